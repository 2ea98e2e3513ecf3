package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

const (
	dialTimeout  = 5 * time.Second
	replyTimeout = 5 * time.Second // how long a reply may be overdue
	readBuffer   = 64 << 10        // the longest line of a reply, too
)

// client is one connection: it writes formatted calls and reads replies. One
// goroutine may write while another one reads.
type client struct {
	net.Conn
	skipper
	in      []byte
	r, w    int       // in[r:w] is read but not skipped
	arrived time.Time // when the newest bytes of in were read
}

// dial connects and authenticates.
func dial(ctx context.Context, cfg *config) (*client, error) {
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp", cfg.Addr)
	if err != nil {
		return nil, err
	}
	c := &client{Conn: conn, in: make([]byte, readBuffer)}
	if cfg.Password == "" {
		return c, nil
	}
	if err := c.auth(cfg.Password); err != nil {
		conn.Close()
		return nil, fmt.Errorf("AUTH: %w", err)
	}
	return c, nil
}

func (c *client) auth(password string) error {
	if err := c.SetDeadline(time.Now().Add(replyTimeout)); err != nil {
		return err
	}
	call := appendBulk(appendBulk([]byte("*2\r\n"), "AUTH"), password)
	if err := c.send(call); err != nil {
		return err
	}
	r, err := c.next()
	if err == nil && r.failed {
		err = errors.New(c.errText)
	}
	return err
}

// send writes formatted calls.
func (c *client) send(calls []byte) error {
	_, err := c.Write(calls)
	return plainError(err)
}

// next is the next reply. arrived is when its last bytes came. After a
// timeout it may be called again.
func (c *client) next() (reply, error) {
	for {
		n, done, err := c.skip(c.in[c.r:c.w])
		c.r += n
		if done || err != nil {
			return c.reply, err
		}
		if err := c.fill(); err != nil {
			return reply{}, err
		}
	}
}

// fill reads more bytes behind those that are not skipped yet.
func (c *client) fill() error {
	c.w = copy(c.in, c.in[c.r:c.w])
	c.r = 0
	if c.w == len(c.in) {
		return fmt.Errorf("reply is beyond its limits: a line of more than %d bytes", len(c.in))
	}
	n, err := c.Read(c.in[c.w:])
	c.w += n
	c.arrived = time.Now()
	if n > 0 {
		return nil // an error comes again with the next read
	}
	return plainError(err)
}

// plainError says in words what happened to a connection.
func plainError(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the server closed the connection")
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the server took too long: %w", err)
	}
	return err
}

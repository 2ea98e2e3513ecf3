package server

import "time"

const (
	lingerFor   = 250 * time.Millisecond
	lingerBytes = 1 << 20
)

// linger ends the sending side and then discards what the client still sends,
// for a short while. Closing with unread bytes makes TCP reset the connection,
// and a reset takes back replies that the client has not read: an error reply,
// or the last replies of a drain, would be lost.
func (c *Conn) linger() {
	half, ok := c.nc.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	if c.nc.SetReadDeadline(time.Now().Add(lingerFor)) != nil {
		return
	}
	for discarded := 0; discarded < lingerBytes; {
		n, err := c.nc.Read(c.in.b)
		if err != nil {
			return
		}
		discarded += n
	}
}

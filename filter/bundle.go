package filter

import (
	"encoding/binary"
	"fmt"
)

// A bundle is a row value that lists operands, oldest first, which could not
// be merged into one list of sets. It keeps every byte of them, so a program
// that can read them all merges them as if nothing had happened.

// StartBundle appends the head of a bundle.
func StartBundle(dst []byte) []byte { return append(dst, tag(kindBundle)) }

// AppendOperand appends a row value to a bundle, newer than those before it.
// It must not be a bundle itself: append the operands of that one.
func AppendOperand(dst, value []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(value)))
	return append(dst, value...)
}

// nextOperand splits the first operand off the body of a bundle.
func nextOperand(body []byte) (operand, rest []byte, err error) {
	length, size, ok := readUvarint(body)
	if !ok || length > uint64(len(body)-size) {
		return nil, body, fmt.Errorf("operand of a bundle: %w", ErrDamaged)
	}
	end := size + int(length)
	return body[size:end:end], body[end:], nil
}

// checkBundle reports whether body is well-formed as a list of operands, not
// whether these can be read.
func checkBundle(body []byte) error {
	for len(body) > 0 {
		var err error
		if _, body, err = nextOperand(body); err != nil {
			return err
		}
	}
	return nil
}

// bundleError tells why a bundle with this body is one: ErrBundle, with the
// error of the first operand that cannot be read if there is one.
func bundleError(body []byte) error {
	for len(body) > 0 {
		var operand []byte
		var err error
		if operand, body, err = nextOperand(body); err != nil {
			return fmt.Errorf("%w: %w", ErrBundle, err)
		}
		if err := checkOperand(operand); err != nil {
			return fmt.Errorf("%w: %w", ErrBundle, err)
		}
	}
	return ErrBundle
}

// checkOperand reads an operand of a bundle for its error alone.
func checkOperand(operand []byte) error {
	if len(operand) > 0 && operand[0] == tag(kindBundle) {
		return fmt.Errorf("bundle within a bundle: %w", ErrDamaged)
	}
	row, err := ParseRow(nil, operand)
	for _, e := range row {
		if err == nil {
			_, err = e.AppendHashes(nil)
		}
	}
	return err
}

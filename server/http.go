package server

import "bytes"

// isHTTP reports whether an inline command is the first line of an HTTP
// request, or a header line of one. Browsers can be made to send such requests
// to any port, with commands in the body; so nothing behind it is executed.
func isHTTP(args [][]byte) bool {
	var name [len("OPTIONS")]byte
	if len(args[0]) > len(name) {
		return false
	}
	switch string(upper(name[:0], args[0])) {
	case "POST", "HOST:":
		return true
	case "GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "PRI":
		return bytes.HasPrefix(args[len(args)-1], []byte("HTTP/"))
	}
	return false
}

// upper appends s to dst with its ASCII letters in upper case.
func upper(dst, s []byte) []byte {
	for _, c := range s {
		if c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		dst = append(dst, c)
	}
	return dst
}

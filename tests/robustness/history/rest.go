package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

const (
	dialTimeout   = 2 * time.Second
	answerTimeout = 10 * time.Second
)

// errNotSent says that no byte of a request was sent, because no connection could be made.
var errNotSent = errors.New("the request was not sent")

// connection sends one HTTP request at a time over a connection that it keeps. The package net/http needs several times
// the CPU of this type, which knows only the answers that the server gives to requests for keys.
type connection struct {
	address string
	conn    net.Conn
	reader  *bufio.Reader
	body    []byte
}

func newConnection(address string) *connection {
	return &connection{address: address, reader: bufio.NewReaderSize(nil, 4096)}
}

// roundTrip sends a request and returns its answer. The body is valid until the next call. After an error other than
// errNotSent, the server may have executed the request.
func (c *connection) roundTrip(request []byte) (int, []byte, error) {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.address, dialTimeout)
		if err != nil {
			return 0, nil, fmt.Errorf("%w: %v", errNotSent, err)
		}
		c.conn = conn
		c.reader.Reset(conn)
	}
	c.conn.SetDeadline(time.Now().Add(answerTimeout))
	if _, err := c.conn.Write(request); err != nil {
		c.close()
		return 0, nil, err
	}
	status, keep, err := c.readAnswer()
	if err != nil || !keep {
		c.close()
	}
	return status, c.body, err
}

func (c *connection) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}

// readAnswer reads one answer into c.body. Returns its status and whether the server keeps the connection.
func (c *connection) readAnswer() (int, bool, error) {
	c.body = c.body[:0]
	line, err := c.readLine()
	if err != nil {
		return 0, false, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, false, fmt.Errorf("not an answer of HTTP/1.1: %q", line)
	}
	status, err := strconv.Atoi(string(line[9:12]))
	if err != nil {
		return 0, false, fmt.Errorf("not an answer of HTTP/1.1: %q", line)
	}
	length, keep := -1, true
	for {
		if line, err = c.readLine(); err != nil {
			return 0, false, err
		}
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("Content-Length")):
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, false, fmt.Errorf("not a length: %q", value)
			}
		case bytes.EqualFold(name, []byte("Connection")):
			keep = !bytes.EqualFold(value, []byte("close"))
		}
	}
	if status == 204 {
		return status, keep, nil
	}
	if length < 0 {
		return 0, false, fmt.Errorf("an answer of status %d without a length", status)
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:length]
	_, err = io.ReadFull(c.reader, c.body)
	return status, keep, err
}

// readLine returns the next line without its end.
func (c *connection) readLine() ([]byte, error) {
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	return bytes.TrimRight(line, "\r\n"), nil
}

// appendRequest appends one request for a key. `header` is a whole line, or empty.
func appendRequest(out []byte, method, path, host, token, header, body string) []byte {
	out = append(out, method...)
	out = append(out, ' ')
	out = append(out, path...)
	out = append(out, " HTTP/1.1\r\nHost: "...)
	out = append(out, host...)
	out = append(out, "\r\n"...)
	if token != "" {
		out = append(out, "Authorization: Bearer "...)
		out = append(out, token...)
		out = append(out, "\r\n"...)
	}
	out = append(out, header...)
	if method == "PUT" {
		out = append(out, "Content-Length: "...)
		out = strconv.AppendInt(out, int64(len(body)), 10)
		out = append(out, "\r\n"...)
	}
	out = append(out, "\r\n"...)
	return append(out, body...)
}

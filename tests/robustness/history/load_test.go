package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLineIsThatOfEncodingJSON(t *testing.T) {
	for _, o := range []operation{
		{Client: "rest-1", Key: "rest/7", Op: "get", Outcome: outcomeOK, Call: 1, Return: 2},
		{Client: "rest-1", Key: "rest/7", Op: "put", Arg: "5", Outcome: outcomeUnknown, Call: 1},
		{Client: "a", Key: "k", Op: "compare_set", Arg: "5", Expected: "4", Outcome: outcomeOK, Value: "4", Call: 1, Return: 9},
		{Client: "a", Key: "k", Op: "get", Outcome: outcomeOK, Value: "unexpected status 500: \"\\\n\u00e9", Call: 1, Return: 9},
	} {
		var want bytes.Buffer
		json.NewEncoder(&want).Encode(o)
		if got := string(o.appendLine(nil)); got != want.String() {
			t.Errorf("got %s, want %s", got, want.String())
		}
	}
}

func TestRecorderWritesEveryLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.jsonl")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	history := newRecorder(file)
	const count = 20_000 // more than one piece
	for i := 0; i < count; i++ {
		history.write(&operation{Client: "rest-1", Key: "rest/7", Op: "get", Outcome: outcomeOK, Call: int64(i)})
	}
	if err := history.close(); err != nil {
		t.Fatal(err)
	}
	read := int64(0)
	if err := readHistory(path, func(o operation) {
		if o.Call == read {
			read++
		}
	}); err != nil || read != count {
		t.Errorf("read %d lines in order, error %v", read, err)
	}
}

// clientOf returns a client of servers, with the token that the tests expect.
func clientOf(addresses ...string) *restClient {
	var values int64
	c := &restClient{name: "rest-0", cluster: "default", token: "secret", random: rand.New(rand.NewSource(1)), values: &values}
	for _, address := range addresses {
		c.connections = append(c.connections, newConnection(address))
	}
	return c
}

func TestOutcomesOfAnswers(t *testing.T) {
	connections := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connections[r.RemoteAddr] = true
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/api/v1/clusters/default/kv/k" {
			w.WriteHeader(400)
			return
		}
		switch text := string(body); {
		case r.Method == "PUT" && r.Header.Get("If-None-Match") == "*" && text == "1":
			w.WriteHeader(412)
		case r.Method == "PUT" && text == "2":
			w.WriteHeader(201)
		case r.Method == "PUT" && text == "3":
			w.WriteHeader(507)
		case r.Method == "PUT" && text == "4":
			w.WriteHeader(503)
		case r.Method == "PUT" && text == "5":
			w.WriteHeader(503)
			io.WriteString(w, `{"leader":"other"}`)
		case r.Method == "PUT":
			w.WriteHeader(500)
		case r.Method == "DELETE":
			w.WriteHeader(204)
		default:
			w.Header().Set("Content-Length", "5000")
			io.WriteString(w, strings.Repeat("v", 5000))
		}
	}))
	defer server.Close()
	c := clientOf(strings.TrimPrefix(server.URL, "http://"))
	for _, want := range []operation{
		{Op: "get", Outcome: outcomeOK, Value: strings.Repeat("v", 5000)},
		{Op: "insert", Arg: "1", Outcome: outcomeOK, Value: "exists"},
		{Op: "insert", Arg: "2", Outcome: outcomeOK, Value: "inserted"},
		{Op: "put", Arg: "2", Outcome: outcomeOK},
		{Op: "put", Arg: "3", Outcome: outcomeFailed},
		{Op: "delete", Outcome: outcomeOK, Value: "deleted"},
		{Op: "put", Arg: "6", Outcome: outcomeOK, Value: "unexpected status 500: "},
		{Op: "put", Arg: "4", Outcome: outcomeUnknown},
		{Op: "put", Arg: "5", Outcome: outcomeFailed},
	} {
		o := operation{Key: "k", Op: want.Op, Arg: want.Arg}
		c.do(&o)
		if o.Outcome != want.Outcome || o.Value != want.Value || (o.Return != 0) != (want.Outcome == outcomeOK) {
			t.Errorf("%s(%s): got %s %q %d", o.Op, o.Arg, o.Outcome, o.Value, o.Return)
		}
	}
	if len(connections) != 2 { // the client closes one after status 503
		t.Errorf("used %d connections", len(connections))
	}
}

func TestOutcomesWithoutAnAnswer(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan string, 4)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Read(make([]byte, 4096))
			io.WriteString(conn, <-answers)
			conn.Close()
		}
	}()
	c := clientOf(listener.Addr().String())
	for _, answer := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n12", "HTTP/1.1 200 OK\r\n\r\n"} {
		answers <- answer
		o := operation{Key: "k", Op: "put", Arg: "1"}
		if c.do(&o); o.Outcome != outcomeUnknown || o.Return != 0 {
			t.Errorf("%q: got %s", answer, o.Outcome)
		}
	}
	listener.Close()
	o := operation{Key: "k", Op: "put", Arg: "1"}
	if c.do(&o); o.Outcome != outcomeFailed {
		t.Errorf("refused connection: got %s", o.Outcome)
	}
	if _, _, err := c.connections[0].roundTrip(nil); !errors.Is(err, errNotSent) {
		t.Errorf("refused connection: got %v", err)
	}
}

func TestHotKeysReceiveAnEighth(t *testing.T) {
	keys := newKeySlots("rest", 8, 2, 400, 6)
	random := rand.New(rand.NewSource(1))
	operations := map[string]int{}
	hot := 0
	for i := 0; i < 40_000; i++ {
		slot, key := keys.pick(random)
		operations[key]++
		if slot < 2 {
			hot++
		}
	}
	for key, count := range operations {
		if count > 1600 {
			t.Errorf("key %s has %d operations", key, count)
		}
	}
	if hot < 4_500 || hot > 5_500 {
		t.Errorf("hot keys have %d operations", hot)
	}
}

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// now reads CLOCK_MONOTONIC, which all processes of a machine share.
func now() int64 {
	const clockMonotonic = 1
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

// keySlots are the keys that clients use at the moment. A key is replaced by a new one after a number of operations,
// or after a number of unknown outcomes, because the time to check a key grows quickly with both.
//
// The first slots are hot: an eighth of all operations use them, so that many operations on a key happen at one time.
type keySlots struct {
	prefix        string
	operationsMax int32
	unknownMax    int32
	slots         []keySlot
	hot           int
	next          int64
	unanswered    atomic.Int32 // consecutive writes without an answer
	writesAfter   atomic.Int64 // time of the next write while unanswered is not 0
}

type keySlot struct {
	mutex      sync.Mutex
	name       string
	operations int32
	unknown    int32
}

func newKeySlots(prefix string, count, hot int, operationsMax, unknownMax int32) *keySlots {
	return &keySlots{prefix: prefix, operationsMax: operationsMax, unknownMax: unknownMax,
		slots: make([]keySlot, hot+count), hot: hot}
}

func (k *keySlots) pick(random *rand.Rand) (int, string) {
	const hotShare = 8
	n, operationsMax := 0, k.operationsMax
	if k.hot > 0 && random.Intn(hotShare) == 0 {
		n, operationsMax = random.Intn(k.hot), 4*k.operationsMax
	} else {
		n = k.hot + random.Intn(len(k.slots)-k.hot)
	}
	slot := &k.slots[n]
	slot.mutex.Lock()
	defer slot.mutex.Unlock()
	if slot.name == "" || slot.operations >= operationsMax || slot.unknown >= k.unknownMax {
		slot.name = fmt.Sprintf("%s/%d", k.prefix, atomic.AddInt64(&k.next, 1))
		slot.operations, slot.unknown = 0, 0
	}
	slot.operations++
	return n, slot.name
}

// mayWrite returns whether a client may write now. A server that cannot answer writes, such as one that lost its disk,
// receives one write at a time, so that few of them have an unknown outcome.
func (k *keySlots) mayWrite() bool {
	count := k.unanswered.Load()
	if count == 0 {
		return true
	}
	if count > 6 {
		count = 6
	}
	due, time := k.writesAfter.Load(), now()
	return time >= due && k.writesAfter.CompareAndSwap(due, time+int64(25_000_000)<<count)
}

func (k *keySlots) countUnknown(n int, name string) {
	k.unanswered.Add(1)
	slot := &k.slots[n]
	slot.mutex.Lock()
	defer slot.mutex.Unlock()
	if slot.name == name {
		slot.unknown++
	}
}

type restClient struct {
	name        string
	connections []*connection // one for each server; the client asks the last one that answered
	current     int
	cluster     string
	token       string
	random      *rand.Rand
	values      *int64
	inVain      int // consecutive operations that no server executed
	request     []byte
}

// do sends one operation and fills in its outcome.
func (c *restClient) do(o *operation) {
	method, body, header := "GET", "", ""
	switch o.Op {
	case "put":
		method, body = "PUT", o.Arg
	case "insert":
		method, body, header = "PUT", o.Arg, "If-None-Match: *\r\n"
	case "delete":
		method = "DELETE"
	}
	server := c.connections[c.current]
	path := "/api/v1/clusters/" + c.cluster + "/kv/" + o.Key
	c.request = appendRequest(c.request[:0], method, path, server.address, c.token, header, body)
	o.Outcome = outcomeUnknown
	o.Call = now()
	status, text, err := server.roundTrip(c.request)
	if err != nil {
		if errors.Is(err, errNotSent) {
			o.Outcome = outcomeFailed
		}
		c.useNextServer()
		return
	}
	o.Return = now()
	switch {
	case status == 200 && o.Op == "get":
		o.Outcome, o.Value = outcomeOK, string(text)
	case (status == 200 || status == 201) && o.Op == "put":
		o.Outcome = outcomeOK
	case status == 201 && o.Op == "insert":
		o.Outcome, o.Value = outcomeOK, "inserted"
	case status == 412 && o.Op == "insert":
		o.Outcome, o.Value = outcomeOK, "exists"
	case status == 204 && o.Op == "delete":
		o.Outcome, o.Value = outcomeOK, "deleted"
	case status == 404 && o.Op == "get":
		o.Outcome, o.Value = outcomeOK, missing
	case status == 404 && o.Op == "delete":
		o.Outcome, o.Value = outcomeOK, "missing"
	case status == 429 || status == 507: // refused before the operation took effect
		o.Outcome, o.Return = outcomeFailed, 0
		time.Sleep(5 * time.Millisecond)
	case status == 503 && bytes.Contains(text, []byte(`"leader"`)): // a standby does nothing but name the leader
		o.Outcome, o.Return = outcomeFailed, 0
		c.useNextServer()
	case status == 503 || status == 504:
		o.Return = 0
		c.useNextServer()
	default:
		// Every other status is a fault of the server, so the history gets an answer that no state allows.
		o.Outcome, o.Value = outcomeOK, fmt.Sprintf("unexpected status %d: %s", status, text)
	}
	if o.Outcome == outcomeOK {
		c.inVain = 0
	}
}

// useNextServer lets the client ask the next server, after a pause that grows while no server executes anything.
func (c *restClient) useNextServer() {
	c.connections[c.current].close() // the server may be gone when this client asks it again
	c.current = (c.current + 1) % len(c.connections)
	doubled := c.inVain / len(c.connections)
	if doubled > 4 {
		doubled = 4
	}
	c.inVain++
	time.Sleep(time.Duration(5+c.random.Intn(20)) * time.Millisecond << doubled)
}

func (c *restClient) run(ctx context.Context, keys *keySlots, history *recorder, rate time.Duration) {
	for ctx.Err() == nil {
		slot, key := keys.pick(c.random)
		o := operation{Client: c.name, Key: key}
		switch p := c.random.Intn(100); {
		case p < 45 || !keys.mayWrite():
			o.Op = "get"
		case p < 80:
			o.Op = "put"
		case p < 90:
			o.Op = "insert"
		default:
			o.Op = "delete"
		}
		if o.Op == "put" || o.Op == "insert" {
			o.Arg = strconv.FormatInt(atomic.AddInt64(c.values, 1), 10)
		}
		c.do(&o)
		history.write(&o)
		if o.Outcome == outcomeUnknown && o.Op != "get" {
			keys.countUnknown(slot, key)
		} else if o.Outcome == outcomeOK && o.Op != "get" && keys.unanswered.Load() != 0 {
			keys.unanswered.Store(0)
		}
		if rate > 0 {
			time.Sleep(rate)
		}
	}
}

// load runs clients against one or several servers until it receives SIGTERM, and writes their history.
func load(args []string) int {
	flags := flag.NewFlagSet("load", flag.ExitOnError)
	urls := flags.String("urls", "", "HTTP addresses of the servers, comma-separated")
	cluster := flags.String("cluster", "default", "cluster whose keys are used")
	name := flags.String("name", "rest", "prefix of the clients' names and of the keys")
	clients := flags.Int("clients", 64, "clients that send one operation at a time")
	slots := flags.Int("keys", 256, "keys in use at one time")
	hot := flags.Int("hot-keys", 4, "keys that receive an eighth of all operations, in addition to --keys")
	operationsMax := flags.Int("operations-per-key", 400, "operations after which a key is replaced by a new one; of a hot key four times as many")
	unknownMax := flags.Int("unknown-per-key", 6, "unknown outcomes after which a key is replaced by a new one")
	pause := flags.Duration("pause", 0, "pause of a client after each operation")
	seed := flags.Int64("seed", 1, "seed of the random operations")
	output := flags.String("output", "keys.jsonl", "file of the history")
	flags.Parse(args)

	var addresses []string
	for _, url := range strings.Split(*urls, ",") {
		const scheme = "http://"
		if !strings.HasPrefix(url, scheme) {
			fmt.Fprintf(os.Stderr, "history: --urls: %q does not begin with %s\n", url, scheme)
			return 2
		}
		addresses = append(addresses, strings.TrimPrefix(url, scheme))
	}
	file, err := os.Create(*output)
	if err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	keys := newKeySlots(*name, *slots, *hot, int32(*operationsMax), int32(*unknownMax))
	history := newRecorder(file)
	var running sync.WaitGroup
	var values int64
	for i := 0; i < *clients; i++ {
		c := &restClient{name: fmt.Sprintf("%s-%d", *name, i), cluster: *cluster, token: os.Getenv("MUSTER_TOKEN"),
			random: rand.New(rand.NewSource(*seed*1000 + int64(i))), values: &values}
		for _, address := range addresses {
			c.connections = append(c.connections, newConnection(address))
		}
		running.Add(1)
		go func() { defer running.Done(); c.run(ctx, keys, history, *pause) }()
	}
	running.Wait()
	if err := history.close(); err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
		return 2
	}
	return 0
}

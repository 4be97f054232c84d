package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/anishathalye/porcupine"
)

// verdict is what check prints: one JSON object.
type verdict struct {
	Operations   int            `json:"operations"`
	Unknown      int            `json:"unknown"`
	Keys         int            `json:"keys"`
	Linearizable int            `json:"linearizable"`
	Illegal      []string       `json:"illegal"`
	Undecided    map[string]int `json:"undecided"` // operations of each key without a verdict
	Pages        []string       `json:"pages"`
	PeakBytes    int64          `json:"peak_bytes"`
}

// keyOperationsMax is the largest history that is given to Porcupine. A key with more operations is undecided.
const keyOperationsMax = 5000

// check reads histories of keys and decides for each key whether it is linearizable. It writes an HTML page for each
// key that is not. The exit status is 1 if a key is not linearizable.
//
// A key is checked as soon as its last operation has been read, so that memory holds only the keys that are in use at
// one time of the history.
func check(args []string) int {
	flags := flag.NewFlagSet("check", flag.ExitOnError)
	pages := flags.String("pages", ".", "folder for the HTML pages of histories that are not linearizable")
	unknownList := flags.String("unknown", os.DevNull, "file that receives the operations without a known outcome")
	limit := flags.Duration("timeout", 20*time.Second, "time for each key; a key that takes longer is undecided")
	flags.Parse(args)

	list, err := os.Create(*unknownList)
	if err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
		return 2
	}
	defer list.Close()
	unknowns := json.NewEncoder(list)
	left := map[string]int{} // operations that were not read yet
	for _, path := range flags.Args() {
		if err := countKeys(path, left); err != nil {
			fmt.Fprintln(os.Stderr, "history:", err)
			return 2
		}
	}
	name := strings.TrimSuffix(filepath.Base(flags.Arg(0)), filepath.Ext(flags.Arg(0)))
	checks := &keyChecks{pages: filepath.Join(*pages, name), limit: *limit,
		result: verdict{Keys: len(left), Illegal: []string{}, Undecided: map[string]int{}, Pages: []string{}}}
	ready := make(chan []operation, runtime.GOMAXPROCS(0))
	var running sync.WaitGroup
	for i := 0; i < runtime.GOMAXPROCS(0); i++ {
		running.Add(1)
		go func() {
			defer running.Done()
			for operations := range ready {
				checks.decide(operations)
			}
		}()
	}
	operations, unknown := 0, 0
	byKey := map[string][]operation{}
	for _, path := range flags.Args() {
		err := readHistory(path, func(o operation) {
			left[o.Key]--
			switch {
			case o.Outcome == outcomeFailed:
			case o.Outcome == outcomeUnknown && (o.Op == "get" || o.Op == "check"): // has no effect and no answer
			default:
				if o.Outcome == outcomeUnknown {
					unknown++
					unknowns.Encode(o)
				}
				operations++
				byKey[o.Key] = append(byKey[o.Key], o)
			}
			if left[o.Key] == 0 {
				if history := byKey[o.Key]; len(history) > 0 {
					ready <- history
				}
				delete(byKey, o.Key)
				delete(left, o.Key)
			}
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "history:", err)
			return 2
		}
	}
	close(ready)
	running.Wait()
	result := &checks.result
	result.Operations, result.Unknown = operations, unknown
	sort.Strings(result.Illegal)
	var usage syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &usage) == nil {
		result.PeakBytes = usage.Maxrss * 1024
	}
	json.NewEncoder(os.Stdout).Encode(result)
	if len(result.Illegal) > 0 {
		return 1
	}
	return 0
}

// keyChecks decides keys in several goroutines and collects the verdicts.
type keyChecks struct {
	pages  string // beginning of the names of HTML pages
	limit  time.Duration
	mutex  sync.Mutex
	result verdict
}

func (c *keyChecks) decide(operations []operation) {
	decided := porcupine.Ok
	var history []porcupine.Operation
	if len(operations) > keyOperationsMax {
		decided = porcupine.Unknown
	} else {
		history = porcupineHistory(operations)
		decided = porcupine.CheckOperationsTimeout(keyModel, history, c.limit)
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch decided {
	case porcupine.Ok:
		c.result.Linearizable++
	case porcupine.Unknown:
		c.result.Undecided[operations[0].Key] = len(operations)
	case porcupine.Illegal:
		c.result.Illegal = append(c.result.Illegal, operations[0].Key)
		path := fmt.Sprintf("%s-%d.html", c.pages, len(c.result.Pages))
		if page := writePage(path, len(c.result.Pages), history, c.limit); page != "" {
			c.result.Pages = append(c.result.Pages, page)
		}
	}
}

// porcupineHistory converts operations. An operation with an unknown outcome can take effect at any later time, so it
// never returns.
func porcupineHistory(operations []operation) []porcupine.Operation {
	clients := map[string]int{}
	history := make([]porcupine.Operation, 0, len(operations))
	for _, o := range operations {
		id, known := clients[o.Client]
		if !known || o.Outcome == outcomeUnknown {
			// A client continues after an unknown outcome, so the pending operation gets a line of its own.
			id = len(clients) + len(history)
			if !known && o.Outcome != outcomeUnknown {
				clients[o.Client] = id
			}
		}
		end := o.Return
		if o.Outcome == outcomeUnknown {
			end = math.MaxInt64
		}
		history = append(history, porcupine.Operation{ClientId: id, Input: o, Call: o.Call, Return: end})
	}
	return history
}

func writePage(path string, number int, history []porcupine.Operation, limit time.Duration) string {
	const pagesMax = 20
	if number >= pagesMax {
		return ""
	}
	_, info := porcupine.CheckOperationsVerbose(keyModel, history, limit)
	if err := porcupine.VisualizePath(keyModel, info, path); err != nil {
		fmt.Fprintln(os.Stderr, "history:", err)
		return ""
	}
	return path
}

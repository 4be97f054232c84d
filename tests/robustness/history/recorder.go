package main

import (
	"encoding/json"
	"os"
	"strconv"
	"sync"
)

// recorder appends operations to a file, in large pieces. The nemesis does not kill `history load`, so operations that
// were not written yet are never lost.
type recorder struct {
	mutex  sync.Mutex
	file   *os.File
	buffer []byte
	err    error // of the first write that failed
}

const recorderPiece = 1 << 20

func newRecorder(file *os.File) *recorder {
	return &recorder{file: file, buffer: make([]byte, 0, recorderPiece+4096)}
}

func (r *recorder) write(o *operation) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.buffer = o.appendLine(r.buffer)
	if len(r.buffer) >= recorderPiece {
		r.flush()
	}
}

func (r *recorder) flush() {
	if _, err := r.file.Write(r.buffer); err != nil && r.err == nil {
		r.err = err
	}
	r.buffer = r.buffer[:0]
}

// close writes everything. Returns the first error of all writes.
func (r *recorder) close() error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.flush()
	if err := r.file.Close(); err != nil && r.err == nil {
		r.err = err
	}
	return r.err
}

// appendLine appends the operation as one line of JSON, in the form that encoding/json gives it.
func (o *operation) appendLine(out []byte) []byte {
	out = appendField(out, `{"client":`, o.Client)
	out = appendField(out, `,"key":`, o.Key)
	out = appendField(out, `,"op":`, o.Op)
	if o.Arg != "" {
		out = appendField(out, `,"arg":`, o.Arg)
	}
	if o.Expected != "" {
		out = appendField(out, `,"expected":`, o.Expected)
	}
	out = appendField(out, `,"outcome":`, o.Outcome)
	if o.Value != "" {
		out = appendField(out, `,"value":`, o.Value)
	}
	out = append(out, `,"call":`...)
	out = strconv.AppendInt(out, o.Call, 10)
	if o.Return != 0 {
		out = append(out, `,"return":`...)
		out = strconv.AppendInt(out, o.Return, 10)
	}
	return append(out, "}\n"...)
}

func appendField(out []byte, name, text string) []byte {
	out = append(out, name...)
	for i := 0; i < len(text); i++ {
		if c := text[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			quoted, _ := json.Marshal(text) // a string has no error
			return append(out, quoted...)
		}
	}
	out = append(out, '"')
	out = append(out, text...)
	return append(out, '"')
}

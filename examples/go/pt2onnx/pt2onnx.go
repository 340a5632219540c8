// Package pt2onnx converts saved PyTorch programs to ONNX with libpt2onnx, through cgo.
//
// pkg-config must find pt2onnx.pc (PKG_CONFIG_PATH). The options are made in C, where
// PT2ONNX_OPTIONS is: no struct is written a second time here.
package pt2onnx

/*
#cgo pkg-config: pt2onnx
#include <pt2onnx.h>
#include <stdint.h>
#include <stdlib.h>

extern void goNote(uintptr_t call, int kind, char *text);
extern void goProgress(uintptr_t call, char *stage, double share);
extern int goWrite(uintptr_t call, void *bytes, size_t n);

static void note(void *call, pt2onnx_note kind, const char *text)
{
	goNote((uintptr_t)call, (int)kind, (char *)text);
}

static void progress(void *call, const char *stage, double share)
{
	goProgress((uintptr_t)call, (char *)stage, share);
}

static int write_bytes(void *call, const void *bytes, size_t n)
{
	return goWrite((uintptr_t)call, (void *)bytes, n);
}

// out NULL: the bytes go to goWrite.
static pt2onnx_status convert(char *model, char *out, int opset, char **inputs, size_t n_inputs,
                              uintptr_t call, pt2onnx_error **e)
{
	pt2onnx_options o = PT2ONNX_OPTIONS;
	if (opset)
		o.opset = opset;
	o.inputs = (const char *const *)inputs;
	o.n_inputs = n_inputs;
	o.user = (void *)call;
	o.on_note = note;
	o.on_progress = progress;
	return out ? pt2onnx_convert(model, out, &o, e)
	           : pt2onnx_convert_to(model, write_bytes, (void *)call, &o, e);
}
*/
import "C"

import (
	"io"
	"runtime/cgo"
	"unsafe"
)

// Options of a conversion. The zero value is right for most models.
type Options struct {
	Opset  int      // 9 to 28; 0: 18
	Inputs []string // "x:float32[N,3,224,224]", as pt2onnx -i has them

	// Progress is called while the model is converted; share is -1 where it is not known.
	// It must not panic: the panic would leave C's memory behind.
	Progress func(stage string, share float64)
}

// Note is something that was assumed, added, dropped or changed.
type Note struct {
	Kind string
	Text string
}

// Error is what the library says. Status is an exit code of the program: 1 cannot convert,
// 2 usage, 3 unreadable, 4 a bug of pt2onnx.
type Error struct {
	Status  int
	Message string
}

func (e *Error) Error() string { return e.Message }

// Version of the library that runs.
func Version() string { return C.GoString(C.pt2onnx_version()) }

// Convert writes the ONNX file out; on an error there is none. Goroutines may convert at once.
// Notes come with an error too: what was assumed may explain it.
func Convert(model, out string, o Options) ([]Note, error) {
	c := call{options: o}
	path := C.CString(out)
	defer C.free(unsafe.Pointer(path))
	err := c.run(model, path)
	return c.notes, err
}

// ConvertTo writes the model to w. It has to fit one file, so it is under 2 GB. What was written
// before an error is no model.
func ConvertTo(w io.Writer, model string, o Options) ([]Note, error) {
	c := call{options: o, to: w}
	err := c.run(model, nil)
	if c.failed != nil {
		err = c.failed
	}
	return c.notes, err
}

// call is what the callbacks of one conversion find through its handle.
type call struct {
	options Options
	notes   []Note
	to      io.Writer
	failed  error // of to
}

func (c *call) run(model string, out *C.char) error {
	handle := cgo.NewHandle(c)
	defer handle.Delete()
	path := C.CString(model)
	defer C.free(unsafe.Pointer(path))
	inputs := texts(c.options.Inputs)
	defer inputs.free()
	var e *C.pt2onnx_error
	status := C.convert(path, out, C.int(c.options.Opset), inputs.at, C.size_t(inputs.n), C.uintptr_t(handle), &e)
	defer C.pt2onnx_error_free(e)
	if status == C.PT2ONNX_OK {
		return nil
	}
	return &Error{int(status), C.GoString(C.pt2onnx_error_message(e))}
}

// cTexts is an array of strings in C's memory.
type cTexts struct {
	at **C.char
	n  int
}

func texts(of []string) cTexts {
	size := C.size_t(unsafe.Sizeof((*C.char)(nil)))
	t := cTexts{(**C.char)(C.calloc(C.size_t(len(of)+1), size)), len(of)}
	at := unsafe.Slice(t.at, t.n)
	for i, s := range of {
		at[i] = C.CString(s)
	}
	return t
}

func (t cTexts) free() {
	for _, s := range unsafe.Slice(t.at, t.n) {
		C.free(unsafe.Pointer(s))
	}
	C.free(unsafe.Pointer(t.at))
}

// A later library may have more kinds.
var kinds = map[C.int]string{
	C.PT2ONNX_ASSUMED: "assumed",
	C.PT2ONNX_ADDED:   "added",
	C.PT2ONNX_DROPPED: "dropped",
	C.PT2ONNX_CHANGED: "changed",
	C.PT2ONNX_INFO:    "info",
}

//export goNote
func goNote(handle C.uintptr_t, kind C.int, text *C.char) {
	c := cgo.Handle(handle).Value().(*call)
	c.notes = append(c.notes, Note{kinds[kind], C.GoString(text)})
}

//export goProgress
func goProgress(handle C.uintptr_t, stage *C.char, share C.double) {
	c := cgo.Handle(handle).Value().(*call)
	if c.options.Progress != nil {
		c.options.Progress(C.GoString(stage), float64(share))
	}
}

// The bytes are the library's until this returns: an io.Writer keeps none of them.
//
//export goWrite
func goWrite(handle C.uintptr_t, bytes unsafe.Pointer, n C.size_t) C.int {
	c := cgo.Handle(handle).Value().(*call)
	if _, c.failed = c.to.Write(unsafe.Slice((*byte)(bytes), int(n))); c.failed != nil {
		return 1
	}
	return 0
}

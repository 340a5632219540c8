// Convert a model from Go:
//
//	go build -o embed . && ./embed net.pt net.onnx "x:float32[N,3,224,224]"
//
// With - for net.onnx the model goes to standard output, through an io.Writer.
package main

import (
	"errors"
	"fmt"
	"os"

	"example.com/embed/pt2onnx"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: embed MODEL OUT.onnx [SPEC..]")
		os.Exit(2)
	}
	model, out := os.Args[1], os.Args[2]
	last := ""
	o := pt2onnx.Options{Inputs: os.Args[3:], Progress: func(stage string, share float64) {
		if stage != last {
			fmt.Fprintf(os.Stderr, "%s: .. %s\n", model, stage)
		}
		last = stage
	}}

	var notes []pt2onnx.Note
	var err error
	if out == "-" {
		notes, err = pt2onnx.ConvertTo(os.Stdout, model, o)
	} else {
		notes, err = pt2onnx.Convert(model, out, o)
	}
	for _, n := range notes {
		fmt.Fprintf(os.Stderr, "%s: %s: %s\n", model, n.Kind, n.Text)
	}
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	var said *pt2onnx.Error
	if errors.As(err, &said) {
		os.Exit(said.Status)
	}
	os.Exit(3)
}

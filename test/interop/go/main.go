// The program makes the calls of cases.ts with grpc-go: interop ADDRESS KEY < cases.json, a line of JSON for each.
package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

type testCase struct {
	Name, Path, Request, Kind, Key, RequestID string
	Count, TimeoutMs                          int
	Gzip                                      bool
}

type outcome struct {
	Name       string `json:"name"`
	Status     int    `json:"status"`
	Messages   int    `json:"messages"`
	Longest    int    `json:"longest"`
	HasMessage bool   `json:"hasMessage"`
	HasDetails bool   `json:"hasDetails"`
	RequestID  string `json:"requestId"`
}

// raw passes messages as they are.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address, key string) error {
	var cases []testCase
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		return err
	}
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{}), grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		return err
	}
	defer conn.Close()
	out := json.NewEncoder(os.Stdout)
	for _, c := range cases {
		result, err := ask(conn, c, key)
		if err != nil {
			return err
		}
		if err := out.Encode(result); err != nil {
			return err
		}
	}
	return nil
}

func ask(conn *grpc.ClientConn, c testCase, key string) (*outcome, error) {
	result := &outcome{Name: c.Name}
	request, err := hex.DecodeString(c.Request)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.TimeoutMs)*time.Millisecond)
	defer cancel()
	if c.Key != "good" {
		key = "a-key-that-nobody-has"
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "x-internal-api-key", key)
	if c.RequestID != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-request-id", c.RequestID)
	}
	trailer := metadata.MD{}
	options := []grpc.CallOption{grpc.Trailer(&trailer)}
	if c.Gzip {
		options = append(options, grpc.UseCompressor("gzip"))
	}
	switch c.Kind {
	case "stream", "deadline":
		err = stream(ctx, conn, c, request, result, &trailer)
	case "parallel":
		err = parallel(ctx, conn, c, request, result)
	default:
		var answer []byte
		if err = conn.Invoke(ctx, c.Path, &request, &answer, options...); err == nil {
			result.took(answer)
		}
	}
	if err != nil {
		said := status.Convert(err)
		result.Status = int(said.Code())
		result.HasMessage = said.Message() != ""
		result.HasDetails = len(said.Details()) > 0
		if ids := trailer.Get("x-request-id"); len(ids) == 1 {
			result.RequestID = ids[0]
		}
	}
	return result, nil
}

func (o *outcome) took(message []byte) {
	o.Messages++
	o.Longest = max(o.Longest, len(message))
}

func stream(ctx context.Context, conn *grpc.ClientConn, c testCase, request []byte, result *outcome, trailer *metadata.MD) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	call, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, c.Path)
	if err != nil {
		return err
	}
	if err := call.SendMsg(&request); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := call.CloseSend(); err != nil {
		return err
	}
	for c.Kind == "deadline" || result.Messages < c.Count {
		var message []byte
		if err := call.RecvMsg(&message); err != nil {
			*trailer = call.Trailer()
			return err
		}
		result.took(message)
	}
	cancel()
	var after []byte
	for {
		// What was under way when the call was canceled may still come.
		if err := call.RecvMsg(&after); err != nil {
			if status.Code(err) == codes.Canceled {
				return nil
			}
			return err
		}
	}
}

func parallel(ctx context.Context, conn *grpc.ClientConn, c testCase, request []byte, result *outcome) error {
	var (
		wait  sync.WaitGroup
		lock  sync.Mutex
		first error
	)
	for range c.Count {
		wait.Add(1)
		go func() {
			defer wait.Done()
			var answer []byte
			err := conn.Invoke(ctx, c.Path, &request, &answer)
			lock.Lock()
			defer lock.Unlock()
			if err != nil {
				first = err
			} else {
				result.took(answer)
			}
		}()
	}
	wait.Wait()
	return first
}

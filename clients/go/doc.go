// Package usher asks Usher who may do what, over gRPC.
//
//	client, err := usher.New("usher.internal:50051", usher.WithKey(os.Getenv("USHER_KEY")))
//	if client.Allowed(ctx, usher.Question{Email: "ben@example.com", App: "atelier", Permission: "project.access"}) { … }
package usher

// Calls a service once by each of the two generated clients.
package main

import (
	"context"
	"log"
	"net/http"
	"os"

	"generated/generator"
	"generated/oapi"
)

func main() {
	ctx, url, key := context.Background(), os.Args[1], os.Args[2]

	byOapi, err := oapi.NewClientWithResponses(url, oapi.WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("x-internal-api-key", key)
		return nil
	}))
	if err != nil {
		log.Fatal(err)
	}
	one, err := byOapi.CheckWithResponse(ctx, &oapi.CheckParams{}, oapi.CheckQuestion{
		Email: "ben@example.com", App: "atelier", Permission: "project.access",
	})
	if err != nil || one.JSON200 == nil || !one.JSON200.Data.Allowed {
		log.Fatalf("oapi-codegen: %v, %+v", err, one)
	}

	configuration := generator.NewConfiguration()
	configuration.Servers = generator.ServerConfigurations{{URL: url}}
	configuration.AddDefaultHeader("x-internal-api-key", key)
	question := generator.NewCheckQuestion("ben@example.com", "atelier", "project.access")
	other, _, err := generator.NewAPIClient(configuration).ChecksAPI.Check(ctx).CheckQuestion(*question).Execute()
	if err != nil || !other.Data.Allowed {
		log.Fatalf("openapi-generator: %v, %+v", err, other)
	}
}

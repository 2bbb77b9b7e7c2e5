package usher

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	permissionv1 "github.com/usher-service/usher-go/internal/gen/usher/permission/v1"
)

const (
	version       = "0.1.0"
	subjectsPage  = 1000
	resourcesPage = 10_000
	again         = 100 * time.Millisecond
	mostAgain     = 5 * time.Second
)

// While a call is UNAVAILABLE it is tried again, after a pause of random length, within its deadline: questions only read. In an outage
// the throttle stops the retries, instead of multiplying the load.
const serviceConfig = `{
  "methodConfig": [{
    "name": [{"service": "usher.permission.v1.PermissionService"}],
    "waitForReady": true,
    "retryPolicy": {
      "maxAttempts": 4,
      "initialBackoff": "0.05s",
      "maxBackoff": "0.2s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }],
  "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}
}`

// Client asks a service or an edge. Make one for the whole process: it holds one connection, for all goroutines.
type Client struct {
	conn        *grpc.ClientConn
	stub        permissionv1.PermissionServiceClient
	options     options
	address     string
	isCleartext bool
	beginning   beginning
}

// New makes a client of `host:port`, or of another target of gRPC. It connects with the first question, or by Ready. What it cannot
// make a client of is an *Error that is ErrInvalidQuestion.
func New(address string, given ...Option) (*Client, error) {
	made := options{deadline: defaultDeadline, log: slog.Default()}
	for _, option := range given {
		if option == nil {
			return nil, optionFault("option", "must not be nil")
		}
		option(&made)
	}
	if err := made.err(address); err != nil {
		return nil, err
	}
	security := credentials.NewTLS(made.tls)
	if made.isCleartext(address) {
		security = insecure.NewCredentials()
	}
	conn, err := grpc.NewClient(address,
		grpc.WithTransportCredentials(security),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithUserAgent("usher-go/"+version),
		// A dead peer is noticed within 15 s, also while nothing is asked.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:                10 * time.Second,
			Timeout:             5 * time.Second,
			PermitWithoutStream: true,
		}),
	)
	if err != nil {
		return nil, optionFault("address", err.Error())
	}
	return &Client{
		conn: conn, stub: permissionv1.NewPermissionServiceClient(conn), options: made,
		address: address, isCleartext: made.isCleartext(address),
	}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Check answers one question.
func (c *Client) Check(ctx context.Context, question Question, given ...AskOption) (Decision, error) {
	if err := question.err(); err != nil {
		return Decision{}, err
	}
	answer, err := ask(ctx, c, c.stub.Check, question.request(minRevision(given)))
	if err != nil {
		return Decision{}, err
	}
	return decisionOf(answer, answer.GetRevision()), nil
}

// Allowed says whether somebody may. Trouble is false, and a warning in the log, without the address. A question that is wrong, such as
// one with half of a record, is a mistake of the program: Allowed panics with the *Error that Check returns. Where parts of a question
// may be missing, ask Check.
func (c *Client) Allowed(ctx context.Context, question Question, given ...AskOption) bool {
	decision, err := c.Check(ctx, question, given...)
	var failure *Error
	if errors.As(err, &failure) && failure.isOwn {
		panic(err)
	}
	if err != nil {
		c.options.log.WarnContext(ctx, "usher: no answer; denied",
			"app", question.App, "permission", question.Permission, "error", err)
		return false
	}
	return decision.Allowed
}

// BulkCheck answers up to 1,000 permissions of one user in one application, at one revision; by code.
func (c *Client) BulkCheck(
	ctx context.Context, subject Subject, permissions []string, level Level, given ...AskOption,
) (map[string]Decision, error) {
	if err := bulkErr(subject, permissions, level); err != nil {
		return nil, err
	}
	answer, err := ask(ctx, c, c.stub.BulkCheck, &permissionv1.BulkCheckRequest{
		Email:        subject.Email,
		App:          subject.App,
		ResourceType: subject.Resource.Type,
		ResourceId:   subject.Resource.ID,
		Permissions:  permissions,
		AccessLevel:  permissionv1.AccessLevel(level),
		MinRevision:  minRevision(given),
	})
	if err != nil {
		return nil, err
	}
	decisions := make(map[string]Decision, len(answer.GetResults()))
	for _, result := range answer.GetResults() {
		decisions[result.GetPermission()] = decisionOf(result, answer.GetRevision())
	}
	return decisions, nil
}

// BatchCheck answers up to 1,000 questions at one revision, in their order.
func (c *Client) BatchCheck(ctx context.Context, questions []Question, given ...AskOption) ([]Decision, error) {
	if err := batchErr(questions); err != nil {
		return nil, err
	}
	request := &permissionv1.BatchCheckRequest{MinRevision: minRevision(given)}
	for _, question := range questions {
		request.Checks = append(request.Checks, question.request(""))
	}
	answer, err := ask(ctx, c, c.stub.BatchCheck, request)
	if err != nil {
		return nil, err
	}
	if len(answer.GetResults()) != len(questions) {
		return nil, errors.New("usher: the answers do not match the questions")
	}
	decisions := make([]Decision, 0, len(questions))
	for _, result := range answer.GetResults() {
		decisions = append(decisions, decisionOf(result, answer.GetRevision()))
	}
	return decisions, nil
}

// Effective lists every permission that the application defines, and says of which revision that is true.
func (c *Client) Effective(ctx context.Context, subject Subject, given ...AskOption) ([]Held, string, error) {
	if err := subject.err(); err != nil {
		return nil, "", err
	}
	answer, err := ask(ctx, c, c.stub.Effective, &permissionv1.EffectiveRequest{
		Email:        subject.Email,
		App:          subject.App,
		ResourceType: subject.Resource.Type,
		ResourceId:   subject.Resource.ID,
		MinRevision:  minRevision(given),
	})
	if err != nil {
		return nil, "", err
	}
	held := make([]Held, 0, len(answer.GetPermissions()))
	for _, item := range answer.GetPermissions() {
		held = append(held, Held{
			Permission: item.GetCode(),
			Allowed:    item.GetGranted(),
			Level:      Level(item.GetAccessLevel()),
			Source:     Source(item.GetSource()),
			Tiered:     item.GetType() == permissionv1.PermissionType_PERMISSION_TYPE_TIERED,
			Global:     item.GetGlobal(),
			Group:      item.GetGroupName(),
		})
	}
	return held, answer.GetRevision(), nil
}

// Explain says what each of the six rules makes of a question.
func (c *Client) Explain(ctx context.Context, question Question, given ...AskOption) (Explanation, error) {
	if err := question.err(); err != nil {
		return Explanation{}, err
	}
	request := &permissionv1.ExplainRequest{Check: question.request(minRevision(given))}
	answer, err := ask(ctx, c, c.stub.Explain, request)
	if err != nil {
		return Explanation{}, err
	}
	explanation := Explanation{
		Decision:         decisionOf(answer, answer.GetRevision()),
		UserKnown:        answer.GetUserKnown(),
		ApplicationKnown: answer.GetApplicationKnown(),
		PermissionKnown:  answer.GetPermissionKnown(),
	}
	for _, rule := range answer.GetRules() {
		explanation.Rules = append(explanation.Rules, RuleResult{
			Rule:    int(rule.GetRule()),
			Applies: rule.GetApplies(),
			Decides: rule.GetDecides(),
			Level:   Level(rule.GetAccessLevel()),
		})
	}
	return explanation, nil
}

// Subjects ranges over everybody for whom the question, which has no Email, is answered with yes, page by page. An error is the last item.
func (c *Client) Subjects(ctx context.Context, question Question, given ...AskOption) iter.Seq2[Holder, error] {
	return func(yield func(Holder, error) bool) {
		if err := subjectsErr(question); err != nil {
			yield(Holder{}, err)
			return
		}
		for token := ""; ; {
			page, err := ask(ctx, c, c.stub.ListSubjects, &permissionv1.ListSubjectsRequest{
				App:          question.App,
				Permission:   question.Permission,
				ResourceType: question.Resource.Type,
				ResourceId:   question.Resource.ID,
				AccessLevel:  permissionv1.AccessLevel(question.Level),
				MinRevision:  minRevision(given),
				PageSize:     subjectsPage,
				PageToken:    token,
			})
			if err != nil {
				yield(Holder{}, err)
				return
			}
			for _, one := range page.GetSubjects() {
				holder := Holder{Email: one.GetEmail(), Level: Level(one.GetAccessLevel()), Source: Source(one.GetSource())}
				if !yield(holder, nil) {
					return
				}
			}
			if token = page.GetNextPageToken(); token == "" {
				return
			}
		}
	}
}

// Resources says for which records of Resource.Type the question is answered with yes.
func (c *Client) Resources(ctx context.Context, question Question, given ...AskOption) (Reach, error) {
	if err := resourcesErr(question); err != nil {
		return Reach{}, err
	}
	var reach Reach
	for token := ""; ; {
		page, err := ask(ctx, c, c.stub.ListResources, &permissionv1.ListResourcesRequest{
			Email:        question.Email,
			App:          question.App,
			Permission:   question.Permission,
			ResourceType: question.Resource.Type,
			AccessLevel:  permissionv1.AccessLevel(question.Level),
			MinRevision:  minRevision(given),
			PageSize:     resourcesPage,
			PageToken:    token,
		})
		if err != nil {
			return Reach{}, err
		}
		reach.All = page.GetScope() == permissionv1.ResourceScope_RESOURCE_SCOPE_ALL_EXCEPT
		reach.ResourceIDs = append(reach.ResourceIDs, page.GetResourceIds()...)
		reach.Revision = page.GetRevision()
		if token = page.GetNextPageToken(); token == "" {
			return reach, nil
		}
	}
}

// Watch ranges over what changes, in the named applications or in all, after a revision or from now on, until ctx ends. A stream that
// ends is opened anew, with nothing lost. An error that no retry mends is the last item.
func (c *Client) Watch(ctx context.Context, since string, apps ...string) iter.Seq2[Changes, error] {
	return func(yield func(Changes, error) bool) {
		if err := watchErr(since, apps); err != nil {
			yield(Changes{}, err)
			return
		}
		for failures := 0; ctx.Err() == nil; failures++ {
			told, err := c.follow(ctx, &since, apps, yield)
			if err == nil || ctx.Err() != nil {
				return
			}
			if !errors.Is(err, ErrUnavailable) {
				yield(Changes{}, err)
				return
			}
			if told {
				failures = 0
			}
			select {
			case <-ctx.Done():
			case <-time.After(pause(failures)):
			}
		}
	}
}

// follow reads one stream: nil when the reader has had enough.
func (c *Client) follow(
	ctx context.Context, since *string, apps []string, yield func(Changes, error) bool,
) (told bool, err error) {
	ctx, cancel := context.WithCancel(c.outgoing(ctx))
	defer cancel()
	stream, err := c.stub.Watch(ctx, &permissionv1.WatchRequest{Apps: apps, SinceRevision: *since})
	if err != nil {
		return false, c.toError(err)
	}
	for {
		message, err := stream.Recv()
		if err != nil {
			return told, c.toError(err)
		}
		changes := Changes{Revision: message.GetRevision(), Reset: message.GetReset_()}
		for _, change := range message.GetChanges() {
			changes.Changes = append(changes.Changes, changeOf(change))
		}
		told, *since = true, changes.Revision
		if !yield(changes, nil) {
			return told, nil
		}
	}
}

func (c *Client) outgoing(ctx context.Context) context.Context {
	if c.options.key == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "x-internal-api-key", c.options.key)
}

// ask calls a method with key and deadline. An earlier deadline of the caller's stays.
func ask[Request, Response any](
	ctx context.Context, c *Client,
	call func(context.Context, *Request, ...grpc.CallOption) (*Response, error), request *Request,
) (*Response, error) {
	ctx, cancel := context.WithTimeout(c.outgoing(ctx), c.deadline(ctx))
	defer cancel()
	answer, err := call(ctx, request)
	return answer, c.toError(err)
}

// pause is longer with each failure, and of random length.
func pause(failures int) time.Duration {
	full := min(mostAgain, again<<min(failures, 6))
	return full/2 + rand.N(full/2)
}

package usher

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"

	permissionv1 "github.com/usher-service/usher-go/internal/gen/usher/permission/v1"
)

const mostQuestions = 1000

// faults is everything that is wrong with a question. What cannot be read is refused before anything is sent: a question is never
// answered as a wider one (docs/reference/decisions.md#client-packages).
type faults struct {
	violations []Violation
	// isWider: more is wrong than that a record lacks its type or its id.
	isWider bool
}

func (f *faults) add(field, message string) {
	f.violations = append(f.violations, Violation{Field: field, Message: message})
	f.isWider = true
}

func (f *faults) text(field, text string) {
	switch {
	case text == "":
		f.add(field, "is required")
	case !utf8.ValidString(text):
		f.add(field, "must be UTF-8")
	}
}

// resource adds what is wrong with a record, which is whole or the zero value.
func (f *faults) resource(path string, resource Resource) {
	if resource == (Resource{}) {
		return
	}
	for _, half := range []struct{ field, text string }{{"type", resource.Type}, {"id", resource.ID}} {
		field := path + "resource." + half.field
		if half.text == "" {
			f.violations = append(f.violations, Violation{Field: field, Message: "is required: a record has a Type and an ID"})
			continue
		}
		f.text(field, half.text)
	}
}

func (f *faults) level(field string, level Level) {
	if level != None && level != View && level != Edit {
		f.add(field, fmt.Sprintf("must be View or Edit, or None for any, not %s", level))
	}
}

// err is an *Error that is ErrInvalidQuestion; nil where nothing is wrong. Its reasons are those of the service.
func (f *faults) err() error {
	if len(f.violations) == 0 {
		return nil
	}
	reason := "VALIDATION_FAILED"
	if !f.isWider {
		reason = "INCOMPLETE_RESOURCE"
	}
	said := make([]string, 0, len(f.violations))
	for _, one := range f.violations {
		said = append(said, one.Field+": "+one.Message)
	}
	return &Error{
		Code: codes.InvalidArgument, Reason: reason, Message: strings.Join(said, ". "), Violations: f.violations, isOwn: true,
	}
}

func (q Question) faults(f *faults, path string) {
	f.text(path+"email", q.Email)
	f.aboutEverybody(q, path)
}

func (f *faults) aboutEverybody(q Question, path string) {
	f.text(path+"app", q.App)
	f.text(path+"permission", q.Permission)
	f.resource(path, q.Resource)
	f.level(path+"level", q.Level)
}

func (q Question) err() error {
	var f faults
	q.faults(&f, "")
	return f.err()
}

func (s Subject) faults(f *faults) {
	f.text("email", s.Email)
	f.text("app", s.App)
	f.resource("", s.Resource)
}

func (s Subject) err() error {
	var f faults
	s.faults(&f)
	return f.err()
}

func bulkErr(s Subject, permissions []string, level Level) error {
	var f faults
	s.faults(&f)
	f.count("permissions", len(permissions))
	for index, code := range permissions {
		f.text(fmt.Sprintf("permissions[%d]", index), code)
	}
	f.level("level", level)
	return f.err()
}

func batchErr(questions []Question) error {
	var f faults
	f.count("questions", len(questions))
	for index, question := range questions {
		question.faults(&f, fmt.Sprintf("questions[%d].", index))
	}
	return f.err()
}

func (f *faults) count(field string, count int) {
	if count < 1 || count > mostQuestions {
		f.add(field, fmt.Sprintf("must hold 1 to %d", mostQuestions))
	}
}

func subjectsErr(q Question) error {
	var f faults
	if q.Email != "" {
		f.add("email", "must be empty: the question is about everybody")
	}
	f.aboutEverybody(q, "")
	return f.err()
}

func resourcesErr(q Question) error {
	var f faults
	f.text("email", q.Email)
	f.text("app", q.App)
	f.text("permission", q.Permission)
	f.text("resource.type", q.Resource.Type)
	if q.Resource.ID != "" {
		f.add("resource.id", "must be empty: the question is about all records of a type")
	}
	f.level("level", q.Level)
	return f.err()
}

func watchErr(since string, apps []string) error {
	var f faults
	if !utf8.ValidString(since) {
		f.add("since", "must be UTF-8")
	}
	for index, app := range apps {
		f.text(fmt.Sprintf("apps[%d]", index), app)
	}
	return f.err()
}

func optionFault(field, message string) error {
	var f faults
	f.add(field, message)
	return f.err()
}

func (q Question) request(minRevision string) *permissionv1.CheckRequest {
	return &permissionv1.CheckRequest{
		Email:        q.Email,
		App:          q.App,
		Permission:   q.Permission,
		ResourceType: q.Resource.Type,
		ResourceId:   q.Resource.ID,
		AccessLevel:  permissionv1.AccessLevel(q.Level),
		MinRevision:  minRevision,
	}
}

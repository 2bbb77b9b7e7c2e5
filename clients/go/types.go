package usher

import permissionv1 "github.com/usher-service/usher-go/internal/gen/usher/permission/v1"

// Level is what is held of a permission. None is nothing; in a question it asks for any level.
type Level int

// The levels: Allowed of a binary permission, View and Edit of a tiered one.
const (
	None Level = iota
	Allowed
	View
	Edit
)

func (l Level) String() string { return name(int(l), "none", "allowed", "view", "edit") }

// Source is the rule that granted, or denied.
type Source int

// The sources. NoSource: no rule granted.
const (
	NoSource Source = iota
	Role
	Override
	SuperAdmin
	AppAdmin
)

func (s Source) String() string {
	return name(int(s), "none", "role", "override", "superadmin", "app_admin")
}

func name(number int, names ...string) string {
	if number < 0 || number >= len(names) {
		return "unknown"
	}
	return names[number]
}

// Resource is one record of an application. The zero value is none.
type Resource struct {
	Type, ID string
}

// Subject is the user of a question, in an application, and the record that it is about.
type Subject struct {
	Email    string
	App      string
	Resource Resource
}

// Question asks whether somebody may.
type Question struct {
	Email      string
	App        string
	Permission string
	Resource   Resource
	// Level is the least that will do: View, Edit, or None for any.
	Level Level
}

// Decision is the answer to a question. The zero value is a denial.
type Decision struct {
	Allowed bool
	Level   Level
	Source  Source
	// Revision is what the answer is true of.
	Revision string
}

// Held is a permission that an application defines, and what somebody holds of it.
type Held struct {
	Permission string
	Allowed    bool
	Level      Level
	Source     Source
	Tiered     bool
	Global     bool
	// Group is empty for none.
	Group string
}

// RuleResult is what one of the six rules makes of a question.
type RuleResult struct {
	// Rule is 1 to 6, in the order in which they count.
	Rule    int
	Applies bool
	Decides bool
	Level   Level
}

// Explanation says why a question is answered as it is.
type Explanation struct {
	Decision
	Rules            []RuleResult
	UserKnown        bool
	ApplicationKnown bool
	PermissionKnown  bool
}

// Holder is somebody who may.
type Holder struct {
	Email  string
	Level  Level
	Source Source
}

// Reach is for which records somebody may: those listed, or, with All, all but those.
type Reach struct {
	All         bool
	ResourceIDs []string
	Revision    string
}

// ChangeKind is what a change is about.
type ChangeKind int

// The kinds. Everything is also said of a kind that this version does not know.
const (
	Everything ChangeKind = iota
	Application
	EverythingInApplication
	Member
	User
)

// Change says whose decisions may be others now.
type Change struct {
	Kind  ChangeKind
	App   string
	Email string
}

// Changes is a message of Watch.
type Changes struct {
	// Revision is up to where everything has been told.
	Revision string
	Changes  []Change
	// Reset: forget what you hold, and go on from Revision.
	Reset bool
}

// decided is what the messages of answers share.
type decided interface {
	GetAllowed() bool
	GetAccessLevel() permissionv1.AccessLevel
	GetSource() permissionv1.DecisionSource
}

func decisionOf(result decided, revision string) Decision {
	return Decision{
		Allowed:  result.GetAllowed(),
		Level:    Level(result.GetAccessLevel()),
		Source:   Source(result.GetSource()),
		Revision: revision,
	}
}

func changeOf(change *permissionv1.Change) Change {
	switch what := change.GetWhat().(type) {
	case *permissionv1.Change_Application:
		return Change{Kind: Application, App: what.Application}
	case *permissionv1.Change_EverythingInApplication:
		return Change{Kind: EverythingInApplication, App: what.EverythingInApplication}
	case *permissionv1.Change_Member:
		return Change{Kind: Member, App: what.Member.GetApp(), Email: what.Member.GetEmail()}
	case *permissionv1.Change_User:
		return Change{Kind: User, Email: what.User}
	default:
		return Change{Kind: Everything}
	}
}

package gitstore

import "errors"

// What can be wrong; compare with errors.Is.
var (
	// ErrBadName means that an object id, a reference or a path is malformed.
	ErrBadName = errors.New("malformed name")
	// ErrNotFound means that no such repository, reference, object or path exists.
	ErrNotFound = errors.New("not found in repository")
	// ErrWrongKind means that the object exists and is of another kind.
	ErrWrongKind = errors.New("object of another kind")
	// ErrTooLarge means that the object or the answer is larger than the caller allowed.
	ErrTooLarge = errors.New("larger than allowed")
	// ErrAmbiguous means that an abbreviated id names several objects.
	ErrAmbiguous = errors.New("ambiguous abbreviation")
	// ErrRefMoved means that a reference did not hold the expected old value.
	ErrRefMoved = errors.New("reference has moved")
	// ErrRefConflict means that a reference cannot stand beside an existing one, such as a and a/b.
	ErrRefConflict = errors.New("reference conflicts with another")
	// ErrPathConflict means that a path runs through a file, or names a folder.
	ErrPathConflict = errors.New("path conflicts with another")
	// ErrExists means that there is already something of this name.
	ErrExists = errors.New("exists already")
	// ErrMalformed means that an object, or what a client sends, breaks git's format.
	ErrMalformed = errors.New("malformed object")
	// ErrClosed means that the quarantine has ended.
	ErrClosed = errors.New("quarantine has ended")
	// ErrUnsure means that git itself has to carry out a change of references, or to say
	// what is wrong with it. Nothing has changed.
	ErrUnsure = errors.New("not a plain update of references")
)

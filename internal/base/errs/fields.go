package errs

import (
	"fmt"
	"unicode/utf8"
)

// Fields collects validation messages in the order they are found. The zero
// value is empty and ready; Err is nil as long as nothing was added.
type Fields []Field

// Add records one message for an attribute.
func (f *Fields) Add(name, message string) {
	for i := range *f {
		if (*f)[i].Name == name {
			(*f)[i].Messages = append((*f)[i].Messages, message)
			return
		}
	}
	*f = append(*f, Field{Name: name, Messages: []string{message}})
}

// Check records the message when ok is false.
func (f *Fields) Check(ok bool, name, message string) {
	if !ok {
		f.Add(name, message)
	}
}

// Length records a text of more than so many characters; nil is no text.
func (f *Fields) Length(name string, text *string, most int) {
	if text != nil && utf8.RuneCountInString(*text) > most {
		f.Add(name, fmt.Sprintf("is too long (maximum is %d characters)", most))
	}
}

// Range records a number below least or above most; nil is no number.
func (f *Fields) Range(name string, n *int64, least, most int64) {
	if n != nil {
		f.Check(*n >= least, name, fmt.Sprintf("must be greater than or equal to %d", least))
		f.Check(*n <= most, name, fmt.Sprintf("must be less than or equal to %d", most))
	}
}

// Err returns an Invalid error with everything collected, or nil.
func (f Fields) Err() error {
	if len(f) == 0 {
		return nil
	}
	return &Error{Kind: Invalid, Fields: f}
}

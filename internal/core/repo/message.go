package repo

// MaxMessage bounds the message of a commit that a template makes, in bytes: a template may quote a long text many times.
const MaxMessage = 1 << 20

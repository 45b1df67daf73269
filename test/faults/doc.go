// Package faults tests what happens when things go wrong: the server is killed, everybody
// wants the same thing at once, clients send rubbish or nothing at all.
package faults

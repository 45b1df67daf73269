package sshkey

import (
	"bytes"
	"testing"

	"golang.org/x/crypto/ssh"
)

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"", "ssh-ed25519", "ssh-ed25519 ", "ssh-rsa AAAAB3NzaC1yc2E=", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC= x",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnAS me",
		"sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIGPKSUTyz1HwHReFVvD5obVsALAgJRNarH4TRpNePnASAAAABHNzaDo=",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parse(text)
		if err != nil {
			return
		}
		again, err := parse(p.line() + " " + p.comment)
		if err != nil || !bytes.Equal(again.key.Marshal(), p.key.Marshal()) {
			t.Errorf("%q: its own line %q reads as %v", text, p.line(), err)
		}
		if _, ok := familyOf(p.key.Type()); !ok || p.bits() <= 0 {
			t.Errorf("%q: family %v, %d bits", text, ok, p.bits())
		}
		for _, mark := range []string{ssh.FingerprintSHA256(p.key), ssh.FingerprintLegacyMD5(p.key)} {
			if _, value, ok := readFingerprint(mark); !ok || value != mark {
				t.Errorf("fingerprint %s reads as %q, %v", mark, value, ok)
			}
		}
	})
}

func FuzzReadFingerprint(f *testing.F) {
	for _, text := range []string{"", "SHA256:", "sha256:AAAA", "00:11", "::::::::::::::::"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		column, value, ok := readFingerprint(text)
		if !ok {
			return
		}
		c, v, ok := readFingerprint(value)
		if c != column || v != value || !ok {
			t.Errorf("%q reads as %q, which reads as %s %q %v", text, value, c, v, ok)
		}
	})
}

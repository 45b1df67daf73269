package secret_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"tenon/internal/base/secret"
)

// TestKeyPair reads keys that openssl wrote, encrypted in both of its forms and as they are.
func TestKeyPair(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "openssl", args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("openssl %q: %v %s", args, err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, args[len(args)-1]))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	certificate := run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=tenon", "-keyout", "key.pem", "-out", "cert.pem")
	plain, err := os.ReadFile(filepath.Join(dir, "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	other := run("genpkey", "-algorithm", "ed25519", "-out", "other.pem")
	for name, c := range map[string]struct {
		key, passphrase string
		unreadable, bad bool
	}{
		"plain":            {string(plain), "", false, false},
		"PKCS 8":           {run("pkcs8", "-topk8", "-v2", "aes-256-cbc", "-passout", "pass:moon", "-in", "key.pem", "-out", "p8.pem"), "moon", false, false},
		"PKCS 8, SHA-1":    {run("pkcs8", "-topk8", "-v2", "aes-128-cbc", "-v2prf", "hmacWithSHA1", "-passout", "pass:moon", "-in", "key.pem", "-out", "p8b.pem"), "moon", false, false},
		"PKCS 8, wrong":    {run("pkcs8", "-topk8", "-passout", "pass:moon", "-in", "key.pem", "-out", "p8c.pem"), "sun", true, true},
		"traditional":      {run("rsa", "-traditional", "-aes256", "-passout", "pass:moon", "-in", "key.pem", "-out", "old.pem"), "moon", false, false},
		"traditional, bad": {run("rsa", "-traditional", "-aes256", "-passout", "pass:moon", "-in", "key.pem", "-out", "old2.pem"), "sun", true, true},
		"another key":      {other, "", false, true},
		"no key":           {"none", "", true, true},
	} {
		_, err := secret.KeyPair(certificate, c.key, c.passphrase)
		if (err != nil) != c.bad || errors.Is(err, secret.ErrKey) != c.unreadable {
			t.Errorf("%s: got %v, want an error %v, of reading %v", name, err, c.bad, c.unreadable)
		}
	}
}

package gitssh

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"
	"golang.org/x/crypto/ssh"
)

// rsaBits is the size of the host key that takes long to make.
const rsaBits = 3072

// The host keys, in the order in which they are offered.
const (
	keyED25519 = "ed25519"
	keyECDSA   = "ecdsa"
	keyRSA     = "rsa"
)

// hostKeys reads the host keys below a folder, and makes those that are missing and
// quickly made. late says that the one for RSA has still to be made.
func hostKeys(dir string) (signers []ssh.Signer, late bool, err error) {
	for _, kind := range []string{keyED25519, keyECDSA} {
		signer, err := readHostKey(dir, kind)
		if errors.Is(err, fs.ErrNotExist) {
			signer, err = makeHostKey(dir, kind)
		}
		if err != nil {
			return nil, false, err
		}
		signers = append(signers, signer)
	}
	signer, err := readHostKey(dir, keyRSA)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return signers, true, nil
	case err != nil:
		return nil, false, err
	}
	return append(signers, signer), false, nil
}

func hostKeyFile(dir, kind string) string { return filepath.Join(dir, "ssh_host_"+kind+"_key") }

// HostKeyFiles names the files of the host keys in their folder, for backups of it.
func HostKeyFiles() []string {
	var names []string
	for _, kind := range []string{keyED25519, keyECDSA, keyRSA} {
		names = append(names, hostKeyFile("", kind))
	}
	return names
}

func readHostKey(dir, kind string) (ssh.Signer, error) {
	name := hostKeyFile(dir, kind)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read host key: %w", err)
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("read host key %s: %w", name, err)
	}
	return sound(signer)
}

// makeHostKey makes a key and keeps it. Either the whole file is there afterwards or
// none, and only its owner reads it.
func makeHostKey(dir, kind string) (ssh.Signer, error) {
	var key crypto.PrivateKey
	var err error
	switch kind {
	case keyED25519:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case keyECDSA:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	default:
		key, err = rsa.GenerateKey(rand.Reader, rsaBits)
	}
	if err != nil {
		return nil, fmt.Errorf("make host key: %w", err)
	}
	return keepHostKey(dir, kind, key)
}

func keepHostKey(dir, kind string, key crypto.PrivateKey) (ssh.Signer, error) {
	block, err := ssh.MarshalPrivateKey(key, "tenon")
	if err != nil {
		return nil, fmt.Errorf("encode host key: %w", err)
	}
	if err := renameio.WriteFile(hostKeyFile(dir, kind), pem.EncodeToMemory(block), 0o600); err != nil {
		return nil, fmt.Errorf("keep host key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return nil, fmt.Errorf("use host key: %w", err)
	}
	return sound(signer)
}

// sound keeps a key for RSA from signing with SHA-1.
func sound(signer ssh.Signer) (ssh.Signer, error) {
	if signer.PublicKey().Type() != ssh.KeyAlgoRSA {
		return signer, nil
	}
	several, ok := signer.(ssh.AlgorithmSigner)
	if !ok {
		return nil, errors.New("host key signs with one algorithm only")
	}
	limited, err := ssh.NewSignerWithAlgorithms(several, []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256})
	if err != nil {
		return nil, fmt.Errorf("use host key: %w", err)
	}
	return limited, nil
}

// addLateKey makes the host key for RSA and offers it to connections from then on. Where
// the server stops first the key is left for the next start.
func (s *Server) addLateKey(signers []ssh.Signer) {
	made := make(chan crypto.PrivateKey, 1)
	go func() { // ends by itself: the search for primes cannot be stopped
		defer close(made)
		key, err := rsa.GenerateKey(rand.Reader, rsaBits)
		if err != nil {
			s.Log.Error("make host key", "error", err)
			return
		}
		made <- key
	}()
	select {
	case <-s.stop:
	case key, ok := <-made:
		if !ok {
			return
		}
		signer, err := keepHostKey(s.HostKeys, keyRSA, key)
		if err != nil {
			s.Log.Error("make host key", "error", err)
			return
		}
		s.config.Store(s.configure(append(slices.Clone(signers), signer)))
	}
}

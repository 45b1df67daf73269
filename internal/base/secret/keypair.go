package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/pbkdf2"
	"crypto/sha1" // PKCS #5 has it for keys that were encrypted long ago
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"hash"
)

// ErrKey says that a private key cannot be read, perhaps because the passphrase is wrong.
var ErrKey = errors.New("the private key cannot be read")

// KeyPair reads a certificate and its private key, both PEM. A key that is encrypted needs its passphrase. It returns ErrKey where the key cannot
// be read, and another error where the certificate cannot, or is of another key.
func KeyPair(certificate, key, passphrase string) (tls.Certificate, error) {
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return tls.Certificate{}, ErrKey
	}
	plain, err := decrypted(block, []byte(passphrase))
	if err != nil {
		return tls.Certificate{}, ErrKey
	}
	return tls.X509KeyPair([]byte(certificate), pem.EncodeToMemory(plain))
}

// decrypted decrypts a private key, in either of the two forms that OpenSSL writes; one that is not encrypted stays as it is.
func decrypted(block *pem.Block, passphrase []byte) (*pem.Block, error) {
	switch {
	case block.Type == "ENCRYPTED PRIVATE KEY":
		der, err := openPKCS8(block.Bytes, string(passphrase))
		if err != nil {
			return nil, err
		}
		block = &pem.Block{Type: "PRIVATE KEY", Bytes: der}
	case x509.IsEncryptedPEMBlock(block): //nolint:staticcheck // keys of this form are in use
		der, err := x509.DecryptPEMBlock(block, passphrase) //nolint:staticcheck // as above
		if err != nil {
			return nil, err
		}
		block = &pem.Block{Type: block.Type, Bytes: der}
	}
	if !readable(block.Bytes) {
		return nil, ErrKey
	}
	return block, nil
}

func readable(der []byte) bool {
	if _, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return true
	}
	if _, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return true
	}
	_, err := x509.ParseECPrivateKey(der)
	return err == nil
}

// The algorithms of RFC 8018 that keys are encrypted with.
var (
	oidPBES2  = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 13}
	oidPBKDF2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 5, 12}

	digests = map[string]func() hash.Hash{
		"": sha1.New, "1.2.840.113549.2.7": sha1.New, "1.2.840.113549.2.9": sha256.New, "1.2.840.113549.2.10": sha512.New384, "1.2.840.113549.2.11": sha512.New,
	}
	aesKeys = map[string]int{ // AES in CBC mode, by the length of the key
		"2.16.840.1.101.3.4.1.2": 16, "2.16.840.1.101.3.4.1.22": 24, "2.16.840.1.101.3.4.1.42": 32,
	}
)

// maxIterations is how often a passphrase may have been hashed; OpenSSL does so 2048 times.
const maxIterations = 2_000_000

// openPKCS8 decrypts an EncryptedPrivateKeyInfo of RFC 5958.
func openPKCS8(der []byte, passphrase string) ([]byte, error) {
	var outer struct {
		Algorithm struct {
			ID     asn1.ObjectIdentifier
			Params struct{ Derive, Encrypt pkix.AlgorithmIdentifier }
		}
		Text []byte
	}
	if _, err := asn1.Unmarshal(der, &outer); err != nil || !outer.Algorithm.ID.Equal(oidPBES2) {
		return nil, ErrKey
	}
	derive, encrypt := outer.Algorithm.Params.Derive, outer.Algorithm.Params.Encrypt
	var kdf struct {
		Salt       []byte
		Iterations int
		Length     int                      `asn1:"optional"`
		PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
	}
	var iv []byte
	_, badDerive := asn1.Unmarshal(derive.Parameters.FullBytes, &kdf)
	_, badEncrypt := asn1.Unmarshal(encrypt.Parameters.FullBytes, &iv)
	digest, size := digests[kdf.PRF.Algorithm.String()], aesKeys[encrypt.Algorithm.String()]
	if badDerive != nil || badEncrypt != nil || !derive.Algorithm.Equal(oidPBKDF2) || digest == nil || size == 0 || len(iv) != aes.BlockSize ||
		kdf.Iterations < 1 || kdf.Iterations > maxIterations || len(outer.Text) == 0 || len(outer.Text)%aes.BlockSize != 0 {
		return nil, ErrKey
	}
	key, err := pbkdf2.Key(digest, passphrase, kdf.Salt, kdf.Iterations, size)
	if err != nil {
		return nil, err
	}
	c, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	plain := make([]byte, len(outer.Text))
	cipher.NewCBCDecrypter(c, iv).CryptBlocks(plain, outer.Text)
	pad := int(plain[len(plain)-1])
	if pad < 1 || pad > aes.BlockSize {
		return nil, ErrKey
	}
	return plain[:len(plain)-pad], nil
}

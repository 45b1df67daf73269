package rest

import (
	"context"

	"tenon/internal/core/authz"
	"tenon/internal/core/gpgkey"
	"tenon/internal/core/signature"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("commits", (*Server).signatureRoutes)

func (s *Server) signatureRoutes() []*api.Route {
	return api.Scoped(nil,
		api.Get("/projects/:id/repository/commits/:sha/signature", s.commitSignature).Doc("Get the signature of a commit").
			Needs(authz.ReadCode).Public(),
		api.Get("/projects/:id/repository/tags/:tag_name/signature", s.tagSignature).Doc("Get the signature of a tag").
			Needs(authz.ReadCode).Public(),
	)
}

// signatureEntity is the signature of a commit or tag, with what its kind has.
type signatureEntity struct {
	Type   signature.Kind   `json:"signature_type"`
	Status signature.Status `json:"verification_status"`
	*pgpSignature
	*sshSignature
	*commitSource
}

type pgpSignature struct {
	KeyID        *gpgkey.ID `json:"gpg_key_id"`
	PrimaryKeyID string     `json:"gpg_key_primary_keyid"`
	UserName     *string    `json:"gpg_key_user_name"`
	UserEmail    *string    `json:"gpg_key_user_email"`
	SubkeyID     *int64     `json:"gpg_key_subkey_id"`
}

type sshSignature struct {
	Key *keyEntity `json:"key"`
}

type commitSource struct {
	Source string `json:"commit_source"` // where the commit was read
}

func (s *Server) signature(sig *signature.Signature) signatureEntity {
	e := signatureEntity{Type: sig.Kind, Status: sig.Status}
	if sig.Kind == signature.PGP {
		e.pgpSignature = &pgpSignature{
			KeyID: sig.PGP.ID, PrimaryKeyID: sig.PGP.KeyID, UserName: sig.PGP.Name, UserEmail: sig.PGP.Email, SubkeyID: sig.PGP.SubkeyID,
		}
		return e
	}
	e.sshSignature = &sshSignature{}
	if sig.SSH != nil {
		key := s.key(sig.SSH)
		e.Key = &key
	}
	return e
}

func (s *Server) commitSignature(ctx context.Context, as authz.Actor, in commitParams) (signatureEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return signatureEntity{}, err
	}
	sig, err := s.Signatures.OfCommit(ctx, as, p, in.SHA)
	if err != nil {
		return signatureEntity{}, err
	}
	e := s.signature(sig)
	e.commitSource = &commitSource{"gitaly"}
	return e, nil
}

func (s *Server) tagSignature(ctx context.Context, as authz.Actor, in tagParams) (signatureEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return signatureEntity{}, err
	}
	sig, err := s.Signatures.OfTag(ctx, as, p, in.TagName)
	if err != nil {
		return signatureEntity{}, err
	}
	return s.signature(sig), nil
}

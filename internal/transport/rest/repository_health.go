package rest

import (
	"context"
	"time"

	"tenon/internal/base/gitstore"
	"tenon/internal/core/authz"
	"tenon/internal/transport/rest/api"
)

// healthEntity says how a repository is stored. Sizes are bytes.
type healthEntity struct {
	Size       int64          `json:"size"`
	References healthRefs     `json:"references"`
	Objects    healthObjects  `json:"objects"`
	Graph      healthGraph    `json:"commit_graph"`
	Bitmap     *healthBitmap  `json:"bitmap"`
	MultiPack  *healthPacks   `json:"multi_pack_index"`
	MultiBits  *healthBitmap  `json:"multi_pack_index_bitmap"`
	Alternates *healthAltered `json:"alternates"`
	IsPool     bool           `json:"is_object_pool"` // pools are no projects
	FullRepack *healthMoment  `json:"last_full_repack"`
	UpdatedAt  api.Time       `json:"updated_at"`
}

type healthRefs struct {
	Loose   int    `json:"loose_count"`
	Packed  int64  `json:"packed_size"`
	Backend string `json:"reference_backend"` // git's own files are the only one there is
}

type healthObjects struct {
	Size       int64 `json:"size"`
	Recent     int64 `json:"recent_size"`
	Stale      int64 `json:"stale_size"`
	Kept       int64 `json:"keep_size"`
	Packs      int   `json:"packfile_count"`
	Reverse    int   `json:"reverse_index_count"`
	Cruft      int   `json:"cruft_count"`
	KeptPacks  int   `json:"keep_count"`
	Loose      int   `json:"loose_objects_count"`
	StaleLoose int   `json:"stale_loose_objects_count"`
	Garbage    int   `json:"loose_objects_garbage_count"`
}

type healthGraph struct {
	Chain      int  `json:"commit_graph_chain_length"`
	Bloom      bool `json:"has_bloom_filters"`
	Generation bool `json:"has_generation_data"`
	Overflow   bool `json:"has_generation_data_overflow"`
}

type healthBitmap struct {
	HashCache   bool `json:"has_hash_cache"`
	LookupTable bool `json:"has_lookup_table"`
	Version     int  `json:"version"`
}

type healthPacks struct {
	Packs   int `json:"packfile_count"`
	Version int `json:"version"`
}

// healthAltered says since when objects are read from a pool; where it lies is private.
type healthAltered struct {
	At healthMoment `json:"last_modified"`
}

type healthMoment struct {
	Seconds int64 `json:"seconds"`
	Nanos   int   `json:"nanos"`
}

func moment(t *time.Time) *healthMoment {
	if t == nil {
		return nil
	}
	return &healthMoment{Seconds: t.Unix(), Nanos: t.Nanosecond()}
}

type healthParams struct {
	projectPath
	Generate bool `param:"generate" doc:"Accepted and ignored: the report is generated on every request"`
}

func (s *Server) repositoryHealth(ctx context.Context, as authz.Actor, in healthParams) (healthEntity, error) {
	p, err := s.Projects.Find(ctx, as, in.ID)
	if err != nil {
		return healthEntity{}, err
	}
	h, at, err := s.Repos.Health(ctx, as, p)
	if err != nil {
		return healthEntity{}, err
	}
	out := healthEntity{
		Size:       h.Size,
		References: healthRefs{Loose: h.LooseRefs, Packed: h.PackedRefs, Backend: "REFERENCE_BACKEND_FILES"},
		Objects: healthObjects{
			Size: h.LooseBytes + h.PackBytes, Recent: h.LooseBytes + h.PackBytes - h.StaleBytes, Stale: h.StaleBytes, Kept: h.KeptBytes,
			Packs: h.Packs, Reverse: h.Reverse, Cruft: h.Cruft, KeptPacks: h.Kept, Loose: h.Loose, StaleLoose: h.StaleLoose, Garbage: h.Garbage,
		},
		Graph:  healthGraph{Chain: h.Graph.Chain, Bloom: h.Graph.Bloom, Generation: h.Graph.Generation, Overflow: h.Graph.Overflow},
		Bitmap: newHealthBitmap(h.Bitmap), MultiBits: newHealthBitmap(h.MultiBits), FullRepack: moment(h.FullRepack), UpdatedAt: api.Time(at),
	}
	if h.MultiPack != nil {
		out.MultiPack = &healthPacks{Packs: h.MultiPack.Packs, Version: h.MultiPack.Version}
	}
	if since := moment(h.Borrows); since != nil {
		out.Alternates = &healthAltered{*since}
	}
	return out, nil
}

func newHealthBitmap(b *gitstore.Bitmap) *healthBitmap {
	if b == nil {
		return nil
	}
	return &healthBitmap{HashCache: b.HashCache, LookupTable: b.LookupTable, Version: b.Version}
}

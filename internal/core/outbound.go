package core

import "tenon/internal/base/safehttp"

// outbound opens connections that users ask for, as the settings allow.
func (s *Services) outbound() *safehttp.Dialer {
	const megabyte = 1 << 20
	return &safehttp.Dialer{
		Rules: func() safehttp.Rules {
			set := s.Settings.Current()
			return safehttp.Rules{
				Closed: set.DenyAllRequestsExceptAllowed, Local: set.AllowLocalRequestsFromWebHooksAndServices, Allowed: set.OutboundLocalRequestsWhitelist,
				Rebinding: !set.DNSRebindingProtectionEnabled,
			}
		},
		Limits: func() safehttp.Limits {
			set := s.Settings.Current()
			return safehttp.Limits{
				Size: int64(set.MaxHTTPResponseSizeLimit) * megabyte, Decompressed: int64(set.MaxHTTPDecompressedSize) * megabyte,
				JSONDepth: set.MaxHTTPResponseJSONDepth, JSONStructural: set.MaxHTTPResponseJSONStructuralChars,
				XMLStructural: set.MaxHTTPResponseXMLStructuralChars, CSVStructural: set.MaxHTTPResponseCSVStructuralChars,
			}
		},
	}
}

// systemOutbound is what hooks of the instance go through: other settings say whether it reaches local addresses.
func (s *Services) systemOutbound() *safehttp.Dialer {
	d := s.outbound()
	rules := d.Rules
	d.Rules = func() safehttp.Rules {
		out := rules()
		out.Local = s.Settings.Current().AllowLocalRequestsFromSystemHooks
		return out
	}
	return d
}

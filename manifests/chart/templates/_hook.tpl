{{/* What all entries of both configurations share: (list $ path), or (list $ path "Ignore" seconds). There is no caBundle unless somebody gives one. */}}
{{- define "dw.hook" -}}
{{- $root := index . 0 -}}
admissionReviewVersions: [v1]
sideEffects: None
{{- $own := gt (len .) 2 }}
failurePolicy: {{ if $own }}{{ index . 2 }}{{ else }}{{ $root.Values.webhook.failurePolicy }}{{ end }}
timeoutSeconds: {{ if $own }}{{ index . 3 }}{{ else }}{{ $root.Values.webhook.timeoutSeconds }}{{ end }}
matchPolicy: Exact
{{- if $root.Values.namespaceRestriction.enabled }}
namespaceSelector:
  matchLabels:
    kubernetes.io/metadata.name: {{ include "dw.target" $root }}
{{- else }}
{{- with $root.Values.webhook.namespaceSelector }}
namespaceSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
clientConfig:
  service:
    name: {{ include "dw.base" $root }}
    namespace: {{ $root.Release.Namespace }}
    path: {{ index . 1 }}
    port: 443
  {{- with $root.Values.webhook.caBundle }}
  caBundle: {{ ternary (b64enc .) (nospace .) (contains "-----BEGIN" .) }}
  {{- end }}
{{- end -}}

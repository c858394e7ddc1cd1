{{/* The base of all names: 50 characters, so that the longest ending still gives a name of 63. */}}
{{- define "dw.base" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := .Values.fullnameOverride | default (ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name)) -}}
{{- $full | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "dw.target" -}}
{{- .Values.namespaceRestriction.targetNamespace | default .Release.Namespace -}}
{{- end -}}

{{/* Ends the names of what is the cluster's: a restricted installation is one of several. */}}
{{- define "dw.clusterSuffix" -}}
{{- if .Values.namespaceRestriction.enabled }}-{{ .Release.Namespace }}{{ end -}}
{{- end -}}

{{- define "dw.secret" -}}
{{- .Values.webhook.certificateSecret.name -}}
{{- end -}}

{{/* What no release holds, because the processes make it; a Secret that somebody else writes is his. */}}
{{- define "dw.left" -}}
{{- $secret := include "dw.secret" . -}}
{{- $mode := include "dw.mode" . -}}
{{- if eq $mode "managed" }}secret/{{ $secret }} secret/{{ $secret }}-ca {{ end -}}
{{- if ne $mode "external-injection" }}configmap/{{ $secret }}-trust {{ end -}}
lease/{{ $secret }}-provisioner
{{- if and .Values.reconciler.enabled (not .Values.controllerManager.leaderElection.namespace) }} lease/{{ .Values.controllerManager.leaderElection.id | default (printf "%s-reconciler" (include "dw.base" .)) }}{{ end -}}
{{- end -}}

{{/* Who makes certificates, and who publishes trust. */}}
{{- define "dw.mode" -}}
{{- if and .Values.webhook.certificateSecret.external .Values.webhook.caBundle -}}
external-injection
{{- else if or .Values.webhook.certificateSecret.external .Values.webhook.certManager.enabled -}}
provided
{{- else -}}
managed
{{- end -}}
{{- end -}}

{{/* Where processes listen, config having the last word and 0 meaning the default: (list $ webhook|healthProbe|metrics). */}}
{{- define "dw.port" -}}
{{- $root := index . 0 -}}
{{- $listener := index . 1 -}}
{{- $default := get (dict "webhook" $root.Values.webhook.port "healthProbe" 8081 "metrics" 8080) $listener -}}
{{- dig "server" $listener "port" $default $root.Values.config | default $default | int -}}
{{- end -}}

{{/* The labels that select pods: (list $ component). */}}
{{- define "dw.selector" -}}
{{- $root := index . 0 -}}
app.kubernetes.io/name: {{ default $root.Chart.Name $root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ $root.Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end -}}

{{/* The labels of an object: (list $ component). */}}
{{- define "dw.labels" -}}
{{- $root := index . 0 -}}
{{ include "dw.selector" . }}
app.kubernetes.io/part-of: dynamo-operator
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
nvidia.com/dynamo-operator-namespace: {{ $root.Release.Namespace }}
{{- end -}}

{{/* A binding of a role to the account of a component: (dict "root" $ "component" c "role" name "kind" Role|ClusterRole "namespace" ns). */}}
{{- define "dw.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ .kind }}Binding
metadata:
  name: {{ .role }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "dw.labels" (list .root .component) | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ .role }}
subjects:
  - kind: ServiceAccount
    name: {{ include "dw.base" .root }}-{{ .component }}
    namespace: {{ .root.Release.Namespace }}
{{- end -}}

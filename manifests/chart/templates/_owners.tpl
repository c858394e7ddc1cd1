{{/* Refuses what would have two owners. It looks at the cluster, which is empty for helm template; the same release upgraded is nobody else. */}}
{{- define "dw.owners" -}}
{{- if not (or .Values.namespaceRestriction.enabled .Values.allowSecondInstallation) -}}
{{- $wrong := concat (include "dw.otherInstallations" . | fromJsonArray) (include "dw.otherConverters" . | fromJsonArray) (include "dw.otherLine" . | fromJsonArray) -}}
{{- if $wrong -}}
{{- fail (printf "\n%s" (join "\n" $wrong)) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Whether an object is this release's, whatever it is called now: (list $ object). */}}
{{- define "dw.released" -}}
{{- $root := index . 0 -}}
{{- $notes := dig "metadata" "annotations" dict (index . 1) -}}
{{- if and (eq (get $notes "meta.helm.sh/release-name") $root.Release.Name) (eq (get $notes "meta.helm.sh/release-namespace") $root.Release.Namespace) -}}
yes
{{- end -}}
{{- end -}}

{{/* Installations for the whole cluster: their provisioners may write CRDs. An installation that kustomize made has no release, but these names. */}}
{{- define "dw.otherInstallations" -}}
{{- $wrong := list -}}
{{- range (lookup "rbac.authorization.k8s.io/v1" "ClusterRole" "" "").items -}}
{{- $labels := .metadata.labels | default dict -}}
{{- if and (eq (get $labels "app.kubernetes.io/part-of") "dynamo-operator") (eq (get $labels "app.kubernetes.io/component") "provisioner") (contains "customresourcedefinitions" (toJson .rules)) -}}
{{- $namespace := get $labels "nvidia.com/dynamo-operator-namespace" -}}
{{- $same := and (eq .metadata.name (printf "%s-provisioner" (include "dw.base" $))) (eq $namespace $.Release.Namespace) -}}
{{- if not (or $same (include "dw.released" (list $ .))) -}}
{{- $wrong = append $wrong (printf "allowSecondInstallation: must be true beside another installation for the whole cluster, and %s in namespace %s is one (ClusterRole %s); uninstall that one first, or serve one namespace alone with namespaceRestriction.enabled" (trimSuffix "-provisioner" .metadata.name) $namespace .metadata.name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- toJson $wrong -}}
{{- end -}}

{{/* Services that CRDs name for their conversion and that aren't ours: the Go operator's, or what definitions for other names say. */}}
{{- define "dw.otherConverters" -}}
{{- $base := include "dw.base" . -}}
{{- $found := dict -}}
{{- if not (dig "certificates" "takeOverConversion" false .Values.config) -}}
{{- range list "dynamocomponentdeployments" "dynamographdeploymentrequests" "dynamographdeployments" "dynamographdeploymentscalingadapters" -}}
{{- $service := dig "spec" "conversion" "webhook" "clientConfig" "service" dict (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" (printf "%s.nvidia.com" .)) -}}
{{- if $service -}}
{{- $here := eq $service.namespace $.Release.Namespace -}}
{{- if not (and $here (or (eq $service.name $base) (include "dw.released" (list $ (lookup "v1" "Service" $service.namespace $service.name))))) -}}
{{- $key := printf "%s/%s" $service.namespace $service.name -}}
{{- $_ := set $found $key (append (get $found $key | default list) .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $wrong := list -}}
{{- range $service, $plurals := $found -}}
{{- $wrong = append $wrong (printf "config.certificates.takeOverConversion: must be true to take conversion from another Service, and %s converts %s; if nobody is to convert but this release, apply its definitions first: %s" $service (join ", " $plurals) (include "dw.definitions" (list $ "--server-side --force-conflicts"))) -}}
{{- end -}}
{{- toJson $wrong -}}
{{- end -}}

{{/* The operator release (line) that the configuration names; empty where it names none, or a development build. */}}
{{- define "dw.line" -}}
{{- $version := dig "operator" "version" "" .Values.config | toString -}}
{{- if and $version (semverCompare ">=0.1.0-0" $version) -}}
{{- $found := "1.2" -}}
{{- range list "1.3" "1.4" "1.5" "1.6" -}}
{{- if semverCompare (printf ">=%s.0-0" .) $version -}}{{- $found = . -}}{{- end -}}
{{- end -}}
{{- $found -}}
{{- end -}}
{{- end -}}

{{/* The line of the cluster's definitions, by fields of graphs; empty without definitions. */}}
{{- define "dw.liveLine" -}}
{{- range dig "spec" "versions" list (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "dynamographdeployments.nvidia.com") -}}
{{- $graph := dig "schema" "openAPIV3Schema" "properties" dict . -}}
{{- $component := dig "spec" "properties" "components" "items" "properties" dict $graph -}}
{{- if and (eq .name "v1beta1") $component -}}
{{- if or (hasKey $component "lpx") (hasKey (dig "roles" "items" "properties" dict $component) "replicas") -}}
1.6
{{- else if hasKey $component "roles" -}}
1.5
{{- else if hasKey (dig "status" "properties" dict $graph) "placement" -}}
1.4
{{- else if hasKey $component "minAvailable" -}}
1.3
{{- else -}}
1.2
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Definitions of another line than the configuration's: conversion would write what they don't know, or leave out what they require. */}}
{{- define "dw.otherLine" -}}
{{- $line := include "dw.line" . -}}
{{- $live := include "dw.liveLine" . -}}
{{- $wrong := list -}}
{{- if and $line $live (ne $line $live) -}}
{{- $advice := "never apply older definitions over them, or objects lose fields" -}}
{{- if gt $line $live -}}
{{- $advice = printf "or apply the definitions of operator %s first: %s" $line (include "dw.definitions" (list . "--server-side")) -}}
{{- end -}}
{{- $wrong = append $wrong (printf "config.operator.version: must be of operator %s, as the cluster's definitions are, or left out, got operator %s; %s" $live $line $advice) -}}
{{- end -}}
{{- toJson $wrong -}}
{{- end -}}

{{/* How the definitions of this release are applied: (list $ flags). The command prints none of a lower line than the cluster's. */}}
{{- define "dw.definitions" -}}
{{- $root := index . 0 -}}
{{- $base := include "dw.base" $root -}}
dynamo-webhooks crds --cluster
{{- with include "dw.line" $root }} --line {{ . }}{{ end -}}
{{- if not (and (eq $base "dynamo-webhooks") (eq $root.Release.Namespace "dynamo-system")) }} --namespace {{ $root.Release.Namespace }} --service {{ $base }}{{ end }} | kubectl apply {{ index . 1 }} -f -
{{- end -}}

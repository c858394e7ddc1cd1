{{/* What the schema can't say: values that are gone, and values that contradict each other. All of it at once. */}}
{{- define "dw.refusals" -}}
{{- $wrong := list -}}
{{- $webhook := .Values.webhook -}}
{{- if hasKey $webhook "enabled" -}}
{{- $wrong = append $wrong "webhook.enabled: the webhooks are what this chart installs and can't be switched off; remove the value" -}}
{{- end -}}
{{- if hasKey $webhook "certGenerator" -}}
{{- $wrong = append $wrong "webhook.certGenerator: certificates are made by the provisioner, or by cert-manager with webhook.certManager.enabled; remove the value" -}}
{{- end -}}
{{- if hasKey $webhook "certificateValidity" -}}
{{- $wrong = append $wrong "webhook.certificateValidity: say it as config.certificates.leafValidity, for example 8760h; remove the value" -}}
{{- end -}}
{{- if hasKey $webhook.certManager "issuerRef" -}}
{{- $wrong = append $wrong "webhook.certManager.issuerRef: has no effect; for an issuer of your own write the Certificate yourself and set webhook.certificateSecret.external" -}}
{{- end -}}
{{- if hasKey (.Values.nats | default dict) "enabled" -}}
{{- $wrong = append $wrong "nats.enabled: this chart installs no NATS; remove the value" -}}
{{- end -}}
{{- if hasKey .Values.dynamo.mpiRun "sshKeygen" -}}
{{- $wrong = append $wrong "dynamo.mpiRun.sshKeygen: the SSH key is made when its Secret is missing; remove the value" -}}
{{- end -}}
{{- if hasKey .Values.dynamo "internalImages" -}}
{{- $wrong = append $wrong "dynamo.internalImages: images are named in graphs; remove the value" -}}
{{- end -}}
{{- if hasKey .Values.dynamo "enableRestrictedSecurityContext" -}}
{{- $wrong = append $wrong "dynamo.enableRestrictedSecurityContext: pods always run restricted; remove the value" -}}
{{- end -}}
{{- if hasKey (.Values.checkpoint | default dict) "readyForCheckpointFilePath" -}}
{{- $wrong = append $wrong "checkpoint.readyForCheckpointFilePath: the path is fixed; remove the value" -}}
{{- end -}}
{{- if hasKey .Values.controllerManager.manager "args" -}}
{{- $wrong = append $wrong "controllerManager.manager.args: has no effect; settings go into config" -}}
{{- end -}}
{{- if .Values.upgradeCRD -}}
{{- $wrong = append $wrong "upgradeCRD: must be false, because CRDs are no part of this chart; apply what `dynamo-webhooks crds --cluster` prints with kubectl apply --server-side before the chart" -}}
{{- end -}}
{{- range .Values.controllerManager.manager.env -}}
{{- if eq .name "DYN_OPERATOR_ALLOW_GMS_SNAPSHOT" -}}
{{- $wrong = append $wrong "controllerManager.manager.env: must not name DYN_OPERATOR_ALLOW_GMS_SNAPSHOT; set featureGates.gmsSnapshot" -}}
{{- end -}}
{{- end -}}
{{- if and $webhook.certManager.enabled $webhook.certificateSecret.external -}}
{{- $wrong = append $wrong "webhook.certManager.enabled: must be false with webhook.certificateSecret.external, or two would write one Secret; set one of them" -}}
{{- end -}}
{{- if and $webhook.caBundle (not $webhook.certificateSecret.external) -}}
{{- $wrong = append $wrong "webhook.caBundle: must be empty unless webhook.certificateSecret.external is true; the trust is published by the provisioner" -}}
{{- end -}}
{{- if and $webhook.namespaceSelector .Values.namespaceRestriction.enabled -}}
{{- $wrong = append $wrong "webhook.namespaceSelector: must be empty with namespaceRestriction.enabled, which selects its target namespace itself" -}}
{{- end -}}
{{- if and .Values.namespaceRestriction.targetNamespace (not .Values.namespaceRestriction.enabled) -}}
{{- $wrong = append $wrong "namespaceRestriction.targetNamespace: must be empty unless namespaceRestriction.enabled is true" -}}
{{- end -}}
{{- if and .Values.migrate.enabled .Values.namespaceRestriction.enabled -}}
{{- $wrong = append $wrong "migrate.enabled: must be false with namespaceRestriction.enabled, which writes no CRD; migrate with the installation for the whole cluster" -}}
{{- end -}}
{{- if and .Values.namespace.allowed .Values.namespaceRestriction.enabled -}}
{{- $wrong = append $wrong "namespace.allowed: must be empty with namespaceRestriction.enabled, which serves its target namespace alone" -}}
{{- end -}}
{{- if dig "namespace" "allowed" list .Values.config -}}
{{- $wrong = append $wrong "config.namespace.allowed: must not be set, because permissions follow it too; set namespace.allowed" -}}
{{- end -}}
{{- if hasKey (dig "server" "webhook" dict .Values.config) "secretName" -}}
{{- $wrong = append $wrong "config.server.webhook.secretName: must not be set, because mounts and permissions name it too; set webhook.certificateSecret.name" -}}
{{- end -}}
{{- range list
  (list "server.webhook.serviceName" "the Service is called by the release; set fullnameOverride")
  (list "server.webhook.certProvisionMode" "permissions follow it too; set webhook.certManager.enabled or webhook.certificateSecret.external")
  (list "server.webhook.certDir" "the Secret is mounted elsewhere; remove the value")
  (list "certificates.caSecretName" "permissions name it too; set webhook.certificateSecret.name")
  (list "certificates.trustConfigMapName" "permissions name it too; set webhook.certificateSecret.name")
  (list "certificates.leaseName" "permissions name it too; set webhook.certificateSecret.name")
  (list "certificates.validatingConfiguration" "permissions name it too; set fullnameOverride")
  (list "certificates.mutatingConfiguration" "permissions name it too; set fullnameOverride")
  (list "leaderElection.id" "permissions name it too; set controllerManager.leaderElection.id")
  (list "leaderElection.namespace" "permissions follow it too; set controllerManager.leaderElection.namespace")
  (list "namespace.restricted" "permissions and webhooks follow it too; set namespaceRestriction.enabled and targetNamespace")
-}}
{{- $found := $.Values.config -}}
{{- range splitList "." (index . 0) -}}
{{- $found = ternary (get (ternary $found dict (kindIs "map" $found)) .) "" (kindIs "map" $found) -}}
{{- end -}}
{{- if $found -}}
{{- $wrong = append $wrong (printf "config.%s: must not be set, because %s" (index . 0) (index . 1)) -}}
{{- end -}}
{{- end -}}
{{- $secure := .Values.metricsService.secure -}}
{{- if ne (dig "server" "metrics" "secure" $secure .Values.config | toString) (toString $secure) -}}
{{- $wrong = append $wrong "config.server.metrics.secure: must not differ from metricsService.secure, which permissions and the monitor follow; set that one" -}}
{{- end -}}
{{- $pull := .Values.reconciler.pullSecrets -}}
{{- if and (ne $pull.mode "none") (not (or $pull.namespaces .Values.namespace.allowed .Values.namespaceRestriction.enabled)) -}}
{{- $wrong = append $wrong "reconciler.pullSecrets.namespaces: must name the namespaces whose Secrets may be read, unless namespace.allowed is set" -}}
{{- end -}}
{{- if or (hasKey (.Values.config.secrets | default dict) "pull") (hasKey (.Values.config.secrets | default dict) "namespaces") -}}
{{- $wrong = append $wrong "config.secrets: must not set pull or namespaces, because permissions follow them too; set reconciler.pullSecrets" -}}
{{- end -}}
{{- if $wrong -}}
{{- fail (printf "\n%s" (join "\n" $wrong)) -}}
{{- end -}}
{{- end -}}

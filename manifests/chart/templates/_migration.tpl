{{/* The specification of the Job that stores all objects in another version. */}}
{{- define "dw.migration" -}}
{{- $manager := .Values.controllerManager.manager -}}
backoffLimit: 20
activeDeadlineSeconds: 86400
podFailurePolicy:
  rules:
    - action: Ignore
      onPodConditions:
        - type: DisruptionTarget
          status: "True"
    - action: FailJob
      onExitCodes:
        containerName: migrate
        operator: In
        values: [1, 2]
template:
  metadata:
    labels:
      {{- with .Values.controllerManager.podLabels }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- include "dw.selector" (list . "migrate") | nindent 6 }}
      app.kubernetes.io/part-of: dynamo-operator
      sidecar.istio.io/inject: "false"
    annotations:
      {{- with .Values.controllerManager.podAnnotations }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      linkerd.io/inject: disabled
  spec:
    serviceAccountName: {{ include "dw.base" . }}-migrate
    restartPolicy: Never
    terminationGracePeriodSeconds: 60
    {{- with .Values.imagePullSecrets }}
    imagePullSecrets:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.controllerManager.priorityClassName }}
    priorityClassName: {{ . }}
    {{- end }}
    {{- with .Values.controllerManager.nodeSelector }}
    nodeSelector:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.controllerManager.tolerations }}
    tolerations:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.controllerManager.affinity }}
    affinity:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    securityContext:
      runAsNonRoot: true
      runAsUser: 65532
      runAsGroup: 65532
      seccompProfile:
        type: RuntimeDefault
    containers:
      - name: migrate
        image: "{{ $manager.image.repository }}:{{ $manager.image.tag | default .Chart.AppVersion }}"
        imagePullPolicy: {{ $manager.image.pullPolicy }}
        args:
          - migrate
          - --to={{ .Values.migrate.to }}
        {{- with $manager.env }}
        env:
          {{- toYaml . | nindent 10 }}
        {{- end }}
        resources:
          {{- toYaml .Values.migrate.resources | nindent 10 }}
        securityContext:
          {{- mustMergeOverwrite (dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL"))) (deepCopy $manager.containerSecurityContext) | toYaml | nindent 10 }}
        volumeMounts:
          - name: scratch
            mountPath: /tmp
    volumes:
      - name: scratch
        emptyDir:
          medium: Memory
          sizeLimit: 8Mi
{{- end -}}

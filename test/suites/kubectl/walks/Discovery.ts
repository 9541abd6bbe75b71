/** Discovery and documentation of kinds. */
import { until, type Walk } from "../Walk.ts"

const served = "configmaps|deployments|replicasets|pods|services|secrets|jobs|namespaces|nodes|events|webapps|notes"

export const walks: ReadonlyArray<Walk> = [
  {
    name: "kubectl discovers the version and the kinds of the server",
    steps: [
      "kubectl version",
      "kubectl version -o json | grep -v '\"platform\"\\|buildDate\\|goVersion\\|compiler'",
      `kubectl api-resources -o wide --no-headers | grep -wE '^(${served})' | sort`,
      "kubectl api-resources --api-group=apps --sort-by=name",
      "kubectl api-resources --api-group=batch --namespaced -o name",
      "kubectl api-resources --api-group=kubectl.example.com --verbs=list,get",
      "kubectl api-versions | grep -E '^(v1|apps|batch|kubectl)'",
      "kubectl get --raw /readyz",
      "kubectl get --raw /api/v1/namespaces/nothing",
      "kubectl get --raw /nothing",
      "kubectl get gadgets",
      "kubectl get gadgets.example.com one",
      "kubectl get nodes",
      "kubectl get node kwok -o name",
      "kubectl get node nothing",
      "kubectl get namespaces kube-system default -o name",
      "kubectl cluster-info"
    ]
  },
  {
    name: "kubectl explains kinds and their fields",
    steps: [
      until("kubectl explain note", /DESCRIPTION/),
      until("kubectl explain webapp.spec", /DESCRIPTION/),
      "kubectl explain webapp.spec.env --recursive",
      "kubectl explain note.spec.tags.name",
      "kubectl explain note.status",
      "kubectl explain deployment.spec.strategy",
      "kubectl explain deployment.spec.template.spec.containers.ports",
      "kubectl explain job.spec --recursive",
      "kubectl explain pods",
      "kubectl explain pod.spec.containers --recursive",
      "kubectl explain deployments.spec.strategy.rollingUpdate.maxSurge",
      "kubectl explain hpa --api-version=autoscaling/v1 --recursive",
      "kubectl explain events.events.k8s.io",
      "kubectl explain crd.spec.versions.schema",
      "kubectl explain configmap.data",
      "kubectl explain secret --api-version=v1",
      "kubectl explain note.spec.nothing",
      "kubectl explain nothing"
    ]
  }
]

/** Workloads, Services and nodes. */
import { managersOf, until, type Walk } from "../Walk.ts"

const web = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1.27
        ports: [{containerPort: 80}]
`

const job = `apiVersion: batch/v1
kind: Job
metadata: {name: pi}
spec:
  completions: 2
  parallelism: 1
  template:
    spec:
      restartPolicy: Never
      containers: [{name: pi, image: "perl:5", command: [perl, -e, "print 3"]}]
`

const service = `apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: web}
  ports: [{name: http, port: 80, targetPort: 80}]
`

const template = "app=web"

export const walks: ReadonlyArray<Walk> = [
  {
    name: "a Deployment is rolled out, scaled, restarted, undone and paused",
    files: {
      "web.yaml": web,
      "newer.yaml": web.replace("1.27", "1.28"),
      "service.yaml": service
    },
    steps: [
      "kubectl create -f web.yaml",
      "kubectl rollout status deploy/web | tail -1",
      until("kubectl get deploy web", /2\/2 +2 +2/),
      "kubectl get deploy -o wide",
      "kubectl get rs",
      "kubectl get rs -o wide",
      `kubectl get pods -l ${template} -o wide`,
      "kubectl get pods --show-labels",
      "kubectl get deploy web -o yaml",
      "kubectl get rs -o yaml",
      `kubectl get pods -o jsonpath='{range .items[*]}{.metadata.generateName}{" "}{.spec}{"\\n"}{end}'`,
      "kubectl describe deploy web",
      "kubectl describe rs",
      "kubectl apply -f newer.yaml",
      "kubectl rollout status deploy/web | tail -1",
      "kubectl rollout history deploy/web",
      "kubectl rollout history deploy/web --revision=2",
      until("kubectl get rs --sort-by=.metadata.creationTimestamp", /0 +0 +0[\s\S]*2 +2 +2/),
      "kubectl rollout undo deploy/web",
      "kubectl rollout status deploy/web | tail -1",
      "kubectl set image deploy/web web=nginx:1.29",
      "kubectl set image deploy/web web=nginx:1.29",
      "kubectl set env deploy/web A=b",
      "kubectl set resources deploy/web --requests=cpu=10m",
      "kubectl rollout status deploy/web | tail -1",
      "kubectl rollout restart deploy/web",
      "kubectl rollout status deploy/web | tail -1",
      "kubectl rollout pause deploy/web",
      "kubectl rollout pause deploy/web",
      "kubectl rollout restart deploy/web",
      "kubectl rollout resume deploy/web",
      "kubectl rollout history deploy/web",
      "kubectl scale deploy web --replicas=3",
      "kubectl scale deploy/web --replicas=1 --current-replicas=3",
      until("kubectl get deploy web", /1\/1 +1 +1/),
      "kubectl wait deploy/web --for=condition=Available",
      "kubectl wait deploy/web --for=jsonpath='{.status.readyReplicas}'=1",
      "kubectl wait pod -l app=web --for=condition=Ready",
      "kubectl get events --field-selector involvedObject.name=web -o custom-columns=A:.type,B:.reason,C:.source.component",
      "kubectl events --for deploy/web --types=Normal --no-headers | wc -l",
      "kubectl diff -f newer.yaml | grep '^[-+] '",
      "KUBE_EDITOR='sed -i s/replicas:.1/replicas:\\ 2/' kubectl edit deploy web",
      "kubectl replace -f newer.yaml",
      "kubectl apply --server-side -f newer.yaml --force-conflicts",
      "kubectl rollout status deploy/web | tail -1",
      until("kubectl get deploy web", /2\/2 +2 +2/),
      until("kubectl get pods -o name | wc -l", /^2/),
      managersOf("deploy web"),
      "kubectl delete deploy web",
      until("kubectl get all", /^$/)
    ]
  },
  {
    name: "a Service finds its pods",
    files: { "web.yaml": web, "service.yaml": service },
    steps: [
      "kubectl apply -f web.yaml -f service.yaml",
      "kubectl rollout status deploy/web | tail -1",
      "kubectl get service web",
      "kubectl get svc -o wide",
      "kubectl get svc web -o yaml",
      until("kubectl get endpointslices -o jsonpath='{.items[*].endpoints[*].targetRef.kind}'", /Pod Pod/),
      "kubectl get endpoints web",
      "kubectl get endpointslices",
      "kubectl describe service web",
      `kubectl patch svc web -p '{"spec":{"type":"NodePort"}}'`,
      "kubectl get svc web",
      `kubectl patch svc web -p '{"spec":{"clusterIP":"10.0.0.99"}}'`,
      "kubectl expose deploy web --name=web-2 --port=8080 --target-port=80",
      "kubectl expose deploy web --name=web-2 --port=8080 --target-port=80",
      "kubectl expose deploy web --name=web-3 --port=8080 --type=LoadBalancer --session-affinity=ClientIP",
      "kubectl get svc",
      "kubectl get all",
      "kubectl delete svc --all",
      "kubectl delete -f web.yaml --wait=false"
    ]
  },
  {
    name: "a Job runs its pods to the end",
    files: {
      "job.yaml": job,
      "cron.yaml": `apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: a, image: i}]}
`
    },
    steps: [
      "kubectl create -f job.yaml",
      "kubectl wait job/pi --for=condition=Complete",
      "kubectl wait job/pi --for=condition=Failed --timeout=2s",
      "kubectl get jobs",
      "kubectl get job pi -o wide",
      "kubectl get job pi -o yaml",
      "kubectl describe job pi",
      "kubectl get pods --show-labels",
      `kubectl patch job pi -p '{"spec":{"completions":5}}'`,
      `kubectl patch job pi -p '{"spec":{"parallelism":5}}'`,
      "kubectl apply -f job.yaml",
      "sed s/perl:5/perl:6/ job.yaml | kubectl apply -f - 2>&1 | cut -c1-50",
      "kubectl create -f cron.yaml",
      "kubectl get cronjobs",
      "kubectl get cronjob nightly -o yaml",
      "kubectl describe cronjob nightly",
      "kubectl delete job pi",
      "kubectl delete cronjob nightly",
      until("kubectl get pods", /^$/)
    ]
  },
  {
    name: "a pod is run, described and deleted",
    steps: [
      "kubectl run one --image=nginx --port=80 --labels=app=one --env=A=b",
      "kubectl run one --image=nginx",
      "kubectl wait pod/one --for=condition=Ready",
      "kubectl get pod one",
      "kubectl get pod one -o wide",
      "kubectl get pod one -o jsonpath='{.spec}'",
      "kubectl describe pod one | sed '/^Node:/d;/^Conditions/,/^Volumes/d;/Container ID/d;/Image ID/d;/Events/,$d;/IP/d;s/^ *//'",
      until("kubectl get events --field-selector involvedObject.name=one,source=default-scheduler", /Scheduled/),
      "kubectl label pod one x=y",
      "kubectl expose pod one --port=80",
      `kubectl patch pod one -p '{"spec":{"activeDeadlineSeconds":1000}}'`,
      `kubectl patch pod one -p '{"spec":{"containers":[{"name":"one","image":"nginx:2"}]}}'`,
      "kubectl run two --image=nginx --dry-run=server -o yaml",
      'kubectl run two --image=nginx --restart=Never --overrides=\'{"spec":{"nodeName":"kwok"}}\'',
      "kubectl wait pod/two --for=jsonpath='{.status.phase}'=Running",
      "kubectl get pods --field-selector spec.nodeName=kwok,status.phase=Running,metadata.name=two",
      "kubectl get pods --sort-by=.metadata.name",
      "kubectl delete pod one --now",
      "kubectl delete pod two --grace-period=0 --force",
      "kubectl get pods"
    ]
  },
  {
    name: "a node is described, cordoned and labelled",
    steps: [
      "kubectl describe node kwok | sed -n '/^Name/p;/^Taints/,/^Lease/p;/^Non-terminated/p'",
      "kubectl cordon kwok",
      "kubectl get node kwok",
      "kubectl uncordon kwok",
      "kubectl uncordon kwok",
      "kubectl taint node kwok a=b:PreferNoSchedule",
      "kubectl taint node kwok a=b:PreferNoSchedule-",
      "kubectl label node kwok walk=here",
      "kubectl label node kwok walk-"
    ]
  }
]

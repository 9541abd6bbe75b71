// Writes shapes.json: of each type of the built-in kinds its fields, with what becomes of one that is empty.
//
// A field is its type with a mark before it: "0" is left out when it is zero, "!" is always written, "?" is written as
// null, and without a mark it is a pointer, which is left out when it is nil. Run it in a module that requires
// k8s.io/api and k8s.io/apiextensions-apiserver v0.37.1 (`go run .`), and let biome format what it has written.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"sort"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authnv1 "k8s.io/api/authentication/v1"
	authzv1 "k8s.io/api/authorization/v1"
	asv1 "k8s.io/api/autoscaling/v1"
	asv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	netv1 "k8s.io/api/networking/v1"
	polv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedv1 "k8s.io/api/scheduling/v1"
	storv1 "k8s.io/api/storage/v1"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

var shapes = map[string]map[string]string{}

func short(t reflect.Type) string {
	p := strings.Split(t.PkgPath(), "/")
	n := len(p)
	if n < 2 {
		return t.Name()
	}
	g := p[n-2]
	if strings.HasSuffix(t.PkgPath(), "meta/v1") {
		g = "meta"
	}
	if g == "core" {
		return t.Name()
	}
	if g == "autoscaling" {
		return g + p[n-1] + "." + t.Name()
	}
	return g + "." + t.Name()
}

// the code of a type
func code(t reflect.Type) string {
	switch t.PkgPath() + "." + t.Name() {
	case "k8s.io/apimachinery/pkg/apis/meta/v1.Time":
		return "time"
	case "k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":
		return "micro"
	case "k8s.io/apimachinery/pkg/apis/meta/v1.Duration":
		return "string"
	case "k8s.io/apimachinery/pkg/api/resource.Quantity":
		return "quantity"
	case "k8s.io/apimachinery/pkg/util/intstr.IntOrString":
		return "any"
	case "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":
		return "any"
	case "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray":
		return "any"
	case "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray",
		"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":
		return code(reflect.TypeOf(crdv1.JSONSchemaProps{}))
	case "k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":
		return "any"
	case "k8s.io/apimachinery/pkg/runtime.RawExtension":
		return "any"
	case "k8s.io/apimachinery/pkg/apis/meta/v1.ObjectMeta":
	}
	switch t.Kind() {
	case reflect.Ptr:
		return code(t.Elem())
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "string"
	case reflect.Int32, reflect.Int64, reflect.Int, reflect.Float64:
		return "number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + code(t.Elem())
	case reflect.Map:
		return "{}" + code(t.Elem())
	case reflect.Struct:
		walk(t)
		return short(t)
	}
	panic(fmt.Sprint(t))
}

func walk(t reflect.Type) {
	n := short(t)
	if _, ok := shapes[n]; ok {
		return
	}
	m := map[string]string{}
	shapes[n] = m
	fields(t, m)
}

func fields(t reflect.Type, m map[string]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		tag := strings.Split(f.Tag.Get("json"), ",")
		if tag[0] == "-" || (tag[0] == "" && !f.Anonymous) {
			continue
		}
		opts := strings.Join(tag[1:], ",")
		if tag[0] == "" { // inline
			fields(f.Type, m)
			continue
		}
		if tag[0] == "apiVersion" && f.Type.Kind() == reflect.String && t.Name() == "TypeMeta" {
			continue
		}
		if tag[0] == "kind" && t.Name() == "TypeMeta" {
			continue
		}
		c := code(f.Type)
		omit := strings.Contains(opts, "omitempty")
		zero := strings.Contains(opts, "omitzero")
		k := f.Type.Kind()
		mark := ""
		switch {
		case k == reflect.Ptr && (omit || zero):
			mark = "" // absent when nil, kept when zero
		case k == reflect.Ptr:
			mark = "?"
		case k == reflect.Struct && zero:
			mark = "0" // dropped when zero
		case k == reflect.Struct:
			mark = "!" // always there
		case omit || zero:
			mark = "0"
		default:
			mark = "!"
		}
		m[tag[0]] = mark + c
	}
}

func main() {
	for _, o := range []any{corev1.Namespace{}, corev1.Pod{}, corev1.Service{}, corev1.ConfigMap{}, corev1.Secret{}, corev1.ServiceAccount{}, corev1.PersistentVolume{}, corev1.PersistentVolumeClaim{}, corev1.Node{}, corev1.Event{}, corev1.Endpoints{}, corev1.ReplicationController{}, corev1.LimitRange{}, corev1.ResourceQuota{}, corev1.PodTemplate{}, corev1.Binding{},
		appsv1.Deployment{}, appsv1.ReplicaSet{}, appsv1.StatefulSet{}, appsv1.DaemonSet{}, appsv1.ControllerRevision{}, batchv1.Job{}, batchv1.CronJob{}, asv1.HorizontalPodAutoscaler{}, asv2.HorizontalPodAutoscaler{}, asv1.Scale{}, polv1.PodDisruptionBudget{}, polv1.Eviction{}, netv1.Ingress{}, netv1.IngressClass{}, netv1.NetworkPolicy{}, rbacv1.Role{}, rbacv1.ClusterRole{}, rbacv1.RoleBinding{}, rbacv1.ClusterRoleBinding{}, coordv1.Lease{}, discv1.EndpointSlice{}, eventsv1.Event{}, storv1.StorageClass{}, schedv1.PriorityClass{}, crdv1.CustomResourceDefinition{},
		admissionv1.ValidatingWebhookConfiguration{}, admissionv1.MutatingWebhookConfiguration{}, admissionv1.ValidatingAdmissionPolicy{}, admissionv1.ValidatingAdmissionPolicyBinding{}, admissionv1.MutatingAdmissionPolicy{}, admissionv1.MutatingAdmissionPolicyBinding{},
		authzv1.SelfSubjectAccessReview{}, authzv1.SubjectAccessReview{}, authzv1.LocalSubjectAccessReview{}, authzv1.SelfSubjectRulesReview{}, authnv1.SelfSubjectReview{}, authnv1.TokenReview{}, authnv1.TokenRequest{}} {
		walk(reflect.TypeOf(o))
	}
	var names []string
	for n := range shapes {
		names = append(names, n)
	}
	sort.Strings(names)
	b, _ := json.Marshal(shapes)
	os.WriteFile("shapes.json", b, 0o644)
	fmt.Println(len(names), len(b))
}

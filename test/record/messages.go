// Writes messages.json, the fields of the Go types of the built-in kinds, and fixtures/samples.json, objects of these kinds as JSON and protobuf.
//
// A field is its protobuf number, a mark and a type. The mark says what Go writes as JSON: "-" omits a zero value, "!" always writes
// the field, "?" writes nil as null, and "*" omits nil. "*" and "?" are pointers. A name with "~" is an embedded struct, whose fields
// are fields of the object in JSON. "[]" is a list, "{}" a map with text keys, and "()" a list that is a message with the items as field 1.
//
// Run it in a module that requires k8s.io/client-go and k8s.io/apiextensions-apiserver v0.37.1 (`go run .`), move both files into
// test/apiserver/kinds/messages, and format them with biome.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"sort"
	"strings"
	"time"

	discoveryv2 "k8s.io/api/apidiscovery/v2"
	crdv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
)

var messages = map[string]map[string]string{}

func name(t reflect.Type) string {
	p := strings.Split(t.PkgPath(), "/")
	return p[len(p)-2] + "/" + p[len(p)-1] + "." + t.Name()
}

var special = map[reflect.Type]string{
	reflect.TypeOf(metav1.Time{}):                        "time",
	reflect.TypeOf(metav1.MicroTime{}):                   "microTime",
	reflect.TypeOf(metav1.Duration{}):                    "duration",
	reflect.TypeOf(metav1.FieldsV1{}):                    "raw",
	reflect.TypeOf(runtime.RawExtension{}):               "raw",
	reflect.TypeOf(crdv1.JSON{}):                         "raw",
	reflect.TypeOf(resource.Quantity{}):                  "quantity",
	reflect.TypeOf(intstr.IntOrString{}):                 "intOrString",
	reflect.TypeOf(crdv1.JSONSchemaPropsOrStringArray{}): "schemaOrTexts",
	reflect.TypeOf(crdv1.JSONSchemaPropsOrArray{}):       "schemaOrSchemas",
	reflect.TypeOf(crdv1.JSONSchemaPropsOrBool{}):        "schemaOrBool",
}

// code gives the code of a type.
func code(t reflect.Type) string {
	if c, ok := special[t]; ok {
		if strings.HasPrefix(c, "schema") {
			walk(reflect.TypeOf(crdv1.JSONSchemaProps{}))
		}
		return c
	}
	switch t.Kind() {
	case reflect.Ptr:
		return code(t.Elem())
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "string"
	case reflect.Int32, reflect.Int64:
		return "int"
	case reflect.Float64:
		return "double"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		if _, ok := reflect.New(t).Interface().(interface{ MarshalTo([]byte) (int, error) }); ok {
			return "()" + code(t.Elem())
		}
		return "[]" + code(t.Elem())
	case reflect.Map:
		return "{}" + code(t.Elem())
	case reflect.Struct:
		walk(t)
		return name(t)
	}
	panic(fmt.Sprint(t))
}

func walk(t reflect.Type) {
	if _, ok := messages[name(t)]; ok {
		return
	}
	m := map[string]string{}
	messages[name(t)] = m
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		if f.Type == reflect.TypeOf(metav1.TypeMeta{}) || !f.IsExported() {
			continue
		}
		tag := strings.Split(f.Tag.Get("json"), ",")
		number := ""
		if p := strings.Split(f.Tag.Get("protobuf"), ","); len(p) > 1 {
			number = p[1]
		}
		if tag[0] == "-" {
			continue
		}
		if number == "" {
			panic(fmt.Sprint("no protobuf number: ", t, " ", f.Name))
		}
		if tag[0] == "" {
			if !f.Anonymous {
				panic(fmt.Sprint("no name in JSON: ", t, " ", f.Name))
			}
			m["~"+f.Name] = number + code(f.Type)
			continue
		}
		m[tag[0]] = number + mark(f.Type.Kind(), strings.Join(tag[1:], ",")) + code(f.Type)
	}
}

func mark(k reflect.Kind, options string) string {
	omit, zero := strings.Contains(options, "omitempty"), strings.Contains(options, "omitzero")
	switch {
	case k == reflect.Ptr && (omit || zero):
		return "*"
	case k == reflect.Ptr:
		return "?"
	case zero || omit && k != reflect.Struct:
		return "-"
	}
	return "!"
}

var filled = map[reflect.Type]bool{}
var counter = 0

// fill sets all fields of a value. It fills each struct once, except for the few that have codes of their own.
func fill(v reflect.Value) {
	counter++
	t := v.Type()
	switch x := v.Addr().Interface().(type) {
	case *metav1.Time:
		*x = metav1.Time{Time: time.Unix(1700000000+int64(counter), 0).UTC()}
		return
	case *metav1.MicroTime:
		*x = metav1.MicroTime{Time: time.Unix(1700000000+int64(counter), 123456000).UTC()}
		return
	case *metav1.Duration:
		*x = metav1.Duration{Duration: 90 * time.Second}
		return
	case *metav1.FieldsV1:
		*x = metav1.FieldsV1{Raw: []byte(`{"f:a":{}}`)}
		return
	case *runtime.RawExtension:
		*x = runtime.RawExtension{Raw: []byte(`{"a":[1,null,"ü"]}`)}
		return
	case *crdv1.JSON:
		*x = crdv1.JSON{Raw: []byte(fmt.Sprintf(`{"a":%d}`, counter))}
		return
	case *resource.Quantity:
		*x = resource.MustParse(fmt.Sprintf("%dm", counter*100+50))
		return
	case *intstr.IntOrString:
		if *x = intstr.FromString("25%"); counter%2 == 0 {
			*x = intstr.FromInt32(int32(counter))
		}
		return
	case *crdv1.JSONSchemaPropsOrStringArray:
		if x.Property = []string{"a", "b"}; counter%2 == 0 {
			*x = crdv1.JSONSchemaPropsOrStringArray{Schema: &crdv1.JSONSchemaProps{Type: "object"}}
		}
		return
	case *crdv1.JSONSchemaPropsOrArray:
		if x.JSONSchemas = []crdv1.JSONSchemaProps{{Type: "string"}, {}}; counter%2 == 0 {
			*x = crdv1.JSONSchemaPropsOrArray{Schema: &crdv1.JSONSchemaProps{Type: "object"}}
		}
		return
	case *crdv1.JSONSchemaPropsOrBool:
		if x.Allows = true; counter%2 == 0 {
			x.Schema = &crdv1.JSONSchemaProps{Type: "object"}
		}
		return
	}
	switch t.Kind() {
	case reflect.Ptr:
		v.Set(reflect.New(t.Elem()))
		fill(v.Elem())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString(fmt.Sprintf("s%d", counter))
	case reflect.Int32, reflect.Int64:
		if v.SetInt(int64(counter)); counter%5 == 0 {
			v.SetInt(-int64(counter))
		}
	case reflect.Float64:
		v.SetFloat(float64(counter) + 0.5)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{0, 200, byte(counter)})
			return
		}
		v.Set(reflect.MakeSlice(t, 2, 2))
		for i := 0; i < 2; i++ {
			fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		for _, key := range []string{"b", "a"} {
			item := reflect.New(t.Elem()).Elem()
			fill(item)
			v.SetMapIndex(reflect.ValueOf(key).Convert(t.Key()), item)
		}
	case reflect.Struct:
		if filled[t] {
			return
		}
		filled[t] = true
		for i := 0; i < t.NumField(); i++ {
			if f := t.Field(i); f.IsExported() && f.Type != reflect.TypeOf(metav1.TypeMeta{}) && f.Tag.Get("json") != "-" {
				fill(v.Field(i))
			}
		}
	default:
		panic(fmt.Sprint(t))
	}
}

type sample struct {
	JSON     json.RawMessage `json:"json"`
	Protobuf string          `json:"protobuf"`
}

func main() {
	if err := crdv1.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	if err := discoveryv2.AddToScheme(scheme.Scheme); err != nil {
		panic(err)
	}
	stable := regexp.MustCompile(`^v\d+$`)
	meta := map[string]bool{"DeleteOptions": true, "Status": true, "PartialObjectMetadata": true, "PartialObjectMetadataList": true, "List": true, "APIGroup": true, "APIGroupList": true, "APIResourceList": true, "APIVersions": true}
	kinds := []schema.GroupVersionKind{}
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		isMeta := strings.HasSuffix(t.PkgPath(), "meta/v1")
		if !stable.MatchString(gvk.Version) || (isMeta && !(meta[gvk.Kind] && gvk.Group == "")) || strings.HasSuffix(gvk.Kind, "Options") && !isMeta {
			continue
		}
		kinds = append(kinds, gvk)
	}
	older := metav1beta1.SchemeGroupVersion
	for _, o := range []runtime.Object{&metav1.PartialObjectMetadata{}, &metav1.PartialObjectMetadataList{}} {
		scheme.Scheme.AddKnownTypes(metav1.SchemeGroupVersion, o)
		kinds = append(kinds, metav1.SchemeGroupVersion.WithKind(reflect.TypeOf(o).Elem().Name()))
	}
	scheme.Scheme.AddKnownTypes(older, &metav1beta1.PartialObjectMetadataList{})
	kinds = append(kinds, older.WithKind("PartialObjectMetadataList"))
	sort.Slice(kinds, func(i, j int) bool { return kinds[i].String() < kinds[j].String() })
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	samples := []sample{}
	for _, gvk := range kinds {
		t := scheme.Scheme.AllKnownTypes()[gvk]
		walk(t)
		for _, full := range []bool{false, true} {
			v := reflect.New(t)
			if full {
				fill(v.Elem())
			}
			o := v.Interface().(runtime.Object)
			o.GetObjectKind().SetGroupVersionKind(gvk)
			j, err := json.Marshal(o)
			if err != nil {
				panic(fmt.Sprint(gvk, err))
			}
			var b strings.Builder
			if err := serializer.Encode(o, &b); err != nil {
				panic(fmt.Sprint(gvk, err))
			}
			samples = append(samples, sample{j, base64.StdEncoding.EncodeToString([]byte(b.String()))})
		}
	}
	write := func(file string, value any) {
		b, err := json.Marshal(value)
		if err != nil {
			panic(err)
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			panic(err)
		}
		fmt.Println(file, len(b))
	}
	write("messages.json", messages)
	write("fixtures/samples.json", samples)
	fmt.Println(len(kinds), len(messages))
}

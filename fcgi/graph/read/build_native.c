/*
 * The rules that come with bazel, and which of their attributes hold labels.
 */
#include <string.h>

#include "fcgi/graph/read/build_private.h"

/* Of any rule whatever.  What only builds, as "tools", is not of the
 * program, nor is what bazel itself does not follow, as "compatible_with". */
static const char *const label_attributes[] = {"srcs", "hdrs", "deps", "data",
    "implementation_deps", "interface_deps", "textual_hdrs", "exports",
    "runtime_deps", "actual", "tests", "additional_linker_inputs",
    "additional_compiler_inputs", "linkstamp", "malloc", "main", "resources",
    "static_library", "shared_library", "pic_static_library",
    "interface_library", "objects", "pic_objects", "dynamic_deps", "roots",
    "constraint_values", "lib_source", "jars", "srcjar", "embed",
    "win_def_file", "module_interfaces", "reexport_deps", "proguard_specs",
    "resource_jars", "classpath_resources", "deploy_env", "non_arc_srcs",
    "launcher"};

/* Of one kind of rule; NULL: of every one, the repository's own as well. */
static const struct {
	const char *kind, *name, *holds;
} attributes[] = {
    {"cc_toolchain_suite", "toolchains", "label values"},
    {NULL, "toolchains", "label"},
    {NULL, "exec_compatible_with", "label"},
    {NULL, "target_compatible_with", "label"},
    {NULL, "visibility", "groups"},
    {"package_group", "includes", "label"},
    {"constraint_value", "constraint_setting", "label"},
    {"platform", "parents", "label"},
    {"config_setting", "flag_values", "label"},
    {"genquery", "scope", "label"},
    {"toolchain", "toolchain_type", "label"},
    {"toolchain", "target_settings", "label"},
    {"cc_toolchain", "static_runtime_lib", "label"},
    {"cc_toolchain", "dynamic_runtime_lib", "label"},
    {"cc_toolchain", "module_map", "label"},
    {"cc_toolchain", "libc_top", "label"},
    {"cc_toolchain", "toolchain_config", "label"},
    {"environment", "fulfills", "label"},
    {"fdo_profile", "profile", "label"},
    {"fdo_profile", "proto_profile", "label"},
    {"java_toolchain", "bootclasspath", "label"},
    {"objc_import", "archives", "label"},
    {"objc_library", "pch", "label"},
    {"proto_lang_toolchain", "runtime", "label"},
    {"proto_lang_toolchain", "blacklisted_protos", "label"},
    {"py_runtime", "files", "label"},
    {"py_runtime", "interpreter", "label"},
    {"xcode_config", "default", "label"},
    {"xcode_config", "versions", "label"},
};

/* Those that hold what only builds. */
static const char *const tool_attributes[] = {"tools", "exec_tools",
    "plugins"};

static const char *const native_rules[] = {"alias", "cc_binary", "cc_import",
    "cc_library", "cc_proto_library", "cc_shared_library", "cc_test",
    "config_setting", "constraint_setting", "constraint_value",
    "environment", "environment_group", "fdo_profile", "filegroup",
    "genrule", "java_binary", "java_import", "java_library",
    "java_lite_proto_library", "java_package_configuration", "java_plugin",
    "java_proto_library", "java_runtime", "java_test", "java_toolchain",
    "label_flag", "label_setting", "objc_import", "objc_library",
    "package_group", "platform", "proto_lang_toolchain", "proto_library",
    "py_binary", "py_library", "py_runtime", "py_test", "sh_binary",
    "sh_library", "sh_test", "test_suite", "toolchain", "toolchain_type",
    "cc_toolchain", "cc_toolchain_suite", "cc_toolchain_alias", "genquery",
    "xcode_config", "xcode_version"};

static bool
native_is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool
build_native_is(const char *name)
{
	return native_is_one_of(name, native_rules,
	    sizeof(native_rules) / sizeof(*native_rules));
}

const char *
build_native_attribute(bool own, const char *kind, const char *name)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(*attributes); i++)
		if (strcmp(attributes[i].name, name) == 0 &&
		    (attributes[i].kind == NULL ||
		    strcmp(attributes[i].kind, kind) == 0))
			return attributes[i].holds;
	if (own || strcmp(kind, "package_group") == 0)
		return "";
	if (strcmp(name, "outs") == 0 || strcmp(name, "out") == 0)
		return "output";
	return native_is_one_of(name, label_attributes,
	    sizeof(label_attributes) / sizeof(*label_attributes)) ? "label"
	    : "";
}

bool
build_native_is_tool(const char *name)
{
	return native_is_one_of(name, tool_attributes,
	    sizeof(tool_attributes) / sizeof(*tool_attributes));
}

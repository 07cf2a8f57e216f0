package native

import (
	"bytes"
	"fmt"
)

// The lines of ggml's Vulkan backend that hand settings to the validation layer, of use to its developers only. Debian
// 12's headers do not know these settings.
const (
	vulkanSettingsBegin = "    VkBool32 enable_best_practice = layer_settings;\n"
	vulkanSettingsEnd   = "    vk::InstanceCreateInfo instance_create_info(vk::InstanceCreateFlags{}, &app_info, layers, extensions, &layer_setting_info);\n"
	vulkanWithout       = "    vk::InstanceCreateInfo instance_create_info(vk::InstanceCreateFlags{}, &app_info, layers, extensions);\n"
)

// vulkanPatch lets the compiler leave those lines out where the headers are too old for them.
func vulkanPatch() patch {
	return patch{why: "Vulkan", file: "ggml/src/ggml-vulkan/ggml-vulkan.cpp", change: guardVulkanSettings}
}

func guardVulkanSettings(code []byte) ([]byte, error) {
	before, rest, found := bytes.Cut(code, []byte(vulkanSettingsBegin))
	inside, after, ended := bytes.Cut(rest, []byte(vulkanSettingsEnd))
	if !found || !ended {
		return nil, fmt.Errorf("%w: it does not look as expected", ErrHash)
	}
	return bytes.Join([][]byte{
		before, []byte("#ifdef VK_EXT_layer_settings\n"),
		[]byte(vulkanSettingsBegin), inside, []byte(vulkanSettingsEnd),
		[]byte("#else\n"), []byte(vulkanWithout), []byte("#endif\n"), after,
	}, nil), nil
}

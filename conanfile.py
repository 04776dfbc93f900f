"""The recipe of xgrad for Conan 2: its headers. conan create . --test-folder packaging/conan"""

import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.scm import Version

required_conan_version = ">=2.0"


class XgradConan(ConanFile):
    name = "xgrad"
    description = "Reverse-mode automatic differentiation for xtensor arrays"
    license = "BSD-3-Clause"
    topics = ("automatic-differentiation", "autograd", "complex-numbers", "xtensor", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"blas": [True, False]}
    default_options = {"blas": False}
    exports_sources = "LICENSE", "include/*"
    no_copy_source = True

    def set_version(self):
        header = load(self, os.path.join(self.recipe_folder, "include", "xgrad", "core", "config.hpp"))
        self.version = re.search(r'define XGRAD_VERSION_STRING "(.*)"', header)[1]

    def requirements(self):
        self.requires("xtensor/[>=0.24 <0.28]", transitive_headers=True)
        if self.options.blas:
            self.requires("openblas/[>=0.3.20 <1]", transitive_libs=True)

    def package_id(self):
        self.info.settings.clear()

    def validate(self):
        if self.settings.get_safe("compiler.cppstd"):
            check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        for pattern in ("*.hpp", "*.ipp", "*.inc"):
            copy(self, pattern, os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "xgrad")
        self.cpp_info.set_property("cmake_target_name", "xgrad::xgrad")
        self.cpp_info.set_property("pkg_config_name", "xgrad")
        self.cpp_info.defines = [f"XGRAD_USE_BLAS={int(bool(self.options.blas))}"]
        if self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["pthread"]
        # A fault of xtensor, see cmake/xtensor_flags.cmake.
        if self.settings.compiler == "gcc" and Version(self.dependencies["xtensor"].ref.version) < "0.26":
            self.cpp_info.cxxflags = ["-fno-new-ttp-matching"]

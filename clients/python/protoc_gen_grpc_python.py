"""A protoc plugin, so that buf can run the generators that grpcio-tools holds inside its own protoc.

The gRPC generator for Python is published in no other form.
"""

import sys
import tempfile
from pathlib import Path

from google.protobuf.compiler.plugin_pb2 import CodeGeneratorRequest, CodeGeneratorResponse
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from grpc_tools import protoc


def main() -> None:
    request = CodeGeneratorRequest.FromString(sys.stdin.buffer.read())
    response = CodeGeneratorResponse(supported_features=CodeGeneratorResponse.FEATURE_PROTO3_OPTIONAL)
    with tempfile.TemporaryDirectory() as folder:
        descriptors = Path(folder, "descriptors")
        descriptors.write_bytes(FileDescriptorSet(file=request.proto_file).SerializeToString())
        out = Path(folder, "out")
        out.mkdir()
        outputs = [f"--{kind}_out={out}" for kind in ("python", "pyi", "grpc_python")]
        if protoc.main(["protoc", f"--descriptor_set_in={descriptors}", *outputs, *request.file_to_generate]) != 0:
            sys.exit("protoc failed")
        for path in sorted(path for path in out.rglob("*") if path.is_file()):
            response.file.add(name=path.relative_to(out).as_posix(), content=path.read_text("utf-8"))
    sys.stdout.buffer.write(response.SerializeToString())


if __name__ == "__main__":
    main()

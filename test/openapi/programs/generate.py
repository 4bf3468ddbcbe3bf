"""Makes clients with openapi-python-client, and says what it warns of. Arguments: pairs of document and folder."""

import sys
from pathlib import Path

from openapi_python_client import generate
from openapi_python_client.config import Config, ConfigFile, MetaType

arguments = sys.argv[1:]
for document, folder in zip(arguments[::2], arguments[1::2]):
    config = Config.from_sources(
        ConfigFile(post_hooks=[]),
        MetaType.NONE,
        document_source=Path(document),
        file_encoding="utf-8",
        overwrite=True,
        output_path=Path(folder),
    )
    for error in generate(config=config):
        print(document, error.header, error.detail)

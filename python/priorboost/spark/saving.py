"""Saving and loading models in the manner of ``pyspark.ml``: the model file inside its metadata."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from pyspark.ml.util import DefaultParamsReader, DefaultParamsWriter, MLReader, MLWriter


class ModelWriter(MLWriter):
    """Saves a model."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:  # noqa: N802
        """Write the model file and the parameters into Spark's metadata."""
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.json")
            self.instance.saveModelFile(file)
            with open(file) as stream:
                document = json.load(stream)
        extra = {"priorboost": document, "history": self.instance.history}
        DefaultParamsWriter.saveMetadata(self.instance, path, self.sc, extraMetadata=extra)


class ModelReader(MLReader):
    """Loads a model."""

    def __init__(self, cls: Any) -> None:
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        """Read what `ModelWriter` wrote."""
        metadata = DefaultParamsReader.loadMetadata(path, self.sc)
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "model.json")
            with open(file, "w") as stream:
                json.dump(metadata["priorboost"], stream)
            model = self.cls.fromModelFile(file)
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        model.history = metadata["history"]
        return model

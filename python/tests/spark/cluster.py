"""A Spark of two executor processes, shared by all tests, and ways to disturb it."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pyspark = pytest.importorskip("pyspark", reason="left out: pyspark is not installed")
pytest.importorskip("pyarrow", reason="left out: pyarrow is not installed")


def has_java():
    home = os.environ.get("JAVA_HOME")
    java = Path(home) / "bin/java" if home else shutil.which("java")
    if java is None:
        return False
    return subprocess.run([java, "-version"], capture_output=True).returncode == 0


if not has_java():
    pytest.skip("left out: there is no Java", allow_module_level=True)

# A Java that starts fast matters here, not one that runs fast.
JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
OPTIONS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    "spark.locality.wait": "0",
    "spark.log.level": "ERROR",
    "spark.python.worker.reuse": "true",
    "spark.shuffle.io.maxRetries": "1",
    "spark.shuffle.io.retryWait": "100ms",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.worker.cleanup.enabled": "true",
}


@pytest.fixture(scope="session")
def spark():
    """A session on two executors, each a process of its own with one core."""
    from pyspark.sql import SparkSession

    os.environ["SPARK_HOME"] = os.path.dirname(pyspark.__file__)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").appName("priorboost-tests")
    for name, value in OPTIONS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


def kill_executor_once(flag):
    """Kill the executor that this runs in, Java and all, unless that has been done."""
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    daemon = os.getppid()
    with open(f"/proc/{daemon}/stat") as file:
        java = int(file.read().rsplit(")", 1)[1].split()[1])
    os.kill(java, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def dying(make, flag):
    """Make a stage whose executor dies once, after it has given its first result."""
    kill = kill_executor_once

    def patched(*arguments):
        stage = make(*arguments)

        def run(batches):
            for batch in stage(batches):
                yield batch
                kill(flag)

        return run

    return patched

"""Train on Spark with labels in the table, and use the model.

Needs ``pip install 'priorboost[spark]'`` and Java 17.
"""

import tempfile

from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from priorboost.spark import PriorBoostClassificationModel, PriorBoostClassifier

spark = SparkSession.builder.getOrCreate()

# A table of people: an id, two features, and whether they bought.
chance = 1 / (1 + F.exp(-(1.5 * F.col("age") - F.col("visits") + 0.5)))
table = (
    spark.range(4000)
    .withColumn("age", F.randn(seed=1))
    .withColumn("visits", F.randn(seed=2))
    .withColumn("bought", (F.rand(seed=3) < chance).cast("double"))
)

# labelCol plays both parties: the labels go to an oracle on the driver, which answers only with the
# mean of bags of at least 10 rows, each row once.  With oracleUrl they stay with their holder.
estimator = PriorBoostClassifier(
    featuresCol=["age", "visits"], idCol="id", labelCol="bought", minBag=10, rounds=2
)
model = estimator.fit(table)
print("weights", model.coefficients, "intercept", model.intercept)

scored = model.transform(table)
evaluator = BinaryClassificationEvaluator(labelCol="bought", rawPredictionCol="probability")
auc = evaluator.evaluate(scored)
print(f"AUC {auc:.3f}")

with tempfile.TemporaryDirectory() as folder:
    model.save(f"file://{folder}/model")
    again = PriorBoostClassificationModel.load(f"file://{folder}/model")
assert again.coefficients == model.coefficients

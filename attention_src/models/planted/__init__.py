"""A model with planted truth, in NumPy: methods of reading maps are graded on it.

heads     each head's weights, in a few lines
model     PlantedModel: run, ablate, replace, patch; truth and sources
texts     random letters, repeated, or with a refrain
methods   ablation, patching, norms, influence, and the grade of a method
"""

from attention_src.models.planted.model import PlantedModel, Trace

__all__ = ["PlantedModel", "Trace"]

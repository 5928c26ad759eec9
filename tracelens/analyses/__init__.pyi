# Every analysis, in the order in which the report shows them; a new one is one line here.
# Type checkers and editors read these lines, and the package reads its names from them: it imports
# the module of an analysis when that is asked for.

from collections.abc import Mapping

from tracelens.analyses.analysis import Analysis as Analysis

# isort: off
from tracelens.analyses.job import job as job
from tracelens.analyses.verdict import verdict as verdict
from tracelens.analyses.changes import changes as changes
from tracelens.analyses.worst_ranks import worst_ranks as worst_ranks
from tracelens.analyses.rank_quartiles import rank_quartiles as rank_quartiles
from tracelens.analyses.waiting import waiting as waiting
from tracelens.analyses.waiting_for import waiting_for as waiting_for
from tracelens.analyses.collectives_across import collectives_across as collectives_across
from tracelens.analyses.compare_setup import compare_setup as compare_setup
from tracelens.analyses.unprofiled_step import unprofiled_step as unprofiled_step
from tracelens.analyses.sensitivity import sensitivity as sensitivity
from tracelens.analyses.critical_path import critical_path as critical_path
from tracelens.analyses.time_breakdown import time_breakdown as time_breakdown
from tracelens.analyses.idle_gaps import idle_gaps as idle_gaps
from tracelens.analyses.compare_time import compare_time as compare_time
from tracelens.analyses.time_by_range import time_by_range as time_by_range
from tracelens.analyses.layer_attribution import layer_attribution as layer_attribution
from tracelens.analyses.layer_host_time import layer_host_time as layer_host_time
from tracelens.analyses.recomputation import recomputation as recomputation
from tracelens.analyses.compare_layers import compare_layers as compare_layers
from tracelens.analyses.compare_blocks import compare_blocks as compare_blocks
from tracelens.analyses.layer_oracle import layer_oracle as layer_oracle
from tracelens.analyses.advise import advise as advise
from tracelens.analyses.timing_methods import timing_methods as timing_methods
from tracelens.analyses.dispatch_depth import dispatch_depth as dispatch_depth
from tracelens.analyses.stack_alignment import stack_alignment as stack_alignment
from tracelens.analyses.kernel_grids import kernel_grids as kernel_grids
from tracelens.analyses.roofline import roofline as roofline
from tracelens.analyses.serving import serving as serving
from tracelens.analyses.work_kinds import work_kinds as work_kinds
from tracelens.analyses.compare_grids import compare_grids as compare_grids
from tracelens.analyses.reconcile import reconcile as reconcile
from tracelens.analyses.copy_cost import copy_cost as copy_cost
from tracelens.analyses.copy_bandwidth import copy_bandwidth as copy_bandwidth
from tracelens.analyses.compare_copies import compare_copies as compare_copies
from tracelens.analyses.memory_timeline import memory_timeline as memory_timeline
from tracelens.analyses.compare_memory import compare_memory as compare_memory
from tracelens.analyses.top_kernels import top_kernels as top_kernels
from tracelens.analyses.kernel_sizes import kernel_sizes as kernel_sizes
from tracelens.analyses.stream_overlap import stream_overlap as stream_overlap
from tracelens.analyses.queue_length import queue_length as queue_length
from tracelens.analyses.compare_kernels import compare_kernels as compare_kernels
from tracelens.analyses.top_ops import top_ops as top_ops
from tracelens.analyses.cross_layer import cross_layer as cross_layer
from tracelens.analyses.compare_cross_layer import compare_cross_layer as compare_cross_layer
from tracelens.analyses.compare_ops import compare_ops as compare_ops
from tracelens.analyses.threads import threads as threads
from tracelens.analyses.call_tree import call_tree as call_tree
from tracelens.analyses.launch_delay import launch_delay as launch_delay
from tracelens.analyses.data_quality import data_quality as data_quality
# isort: on

ANALYSES: Mapping[str, Analysis]

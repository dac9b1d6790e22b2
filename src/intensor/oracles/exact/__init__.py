"""The exact search for the vertex of least cost, without an outside solver.

In the order of a call: ``oracle`` turns costs into integers (``fixed_point``), gives every mode a
part (``arrangement``) and makes a ``plan``. ``enumeration``, ``branch_bound`` and
``device_enumeration`` carry it out, with the state of one ``search``, by kernels: ``scan`` goes
through patterns of slabs, ``tree`` branches on ``nodes``, and both bound what is left by ``blocks``
of rows with ``multipliers`` and by ``merging`` them. Boxes that are found go into a ``pool``.
"""

"""polysched/counts/sass/parse.py: what nvdisasm prints, in small; no tool is needed."""

from __future__ import annotations

from polysched.counts.sass.parse import parse

TEXT = r"""
	.target	sm_90

//--------------------- .nv.info._Z4axpyPdS_dl    --------------------------
	.section	.nv.info._Z4axpyPdS_dl,"",@"SHT_CUDA_INFO"
	.align	4

	//----- nvinfo : EIATTR_KPARAM_INFO
	.align		4
.L_15:
        /*0018*/ 	.byte	0x04, 0x17
        /*001a*/ 	.short	(.L_17 - .L_16)
.L_16:
        /*001c*/ 	.word	0x00000000
        /*0020*/ 	.short	0x0001
        /*0022*/ 	.short	0x0008
        /*0024*/ 	.byte	0x00, 0xf0, 0x11, 0x00

	//----- nvinfo : EIATTR_KPARAM_INFO
	.align		4
.L_17:
        /*0028*/ 	.byte	0x04, 0x17
        /*002a*/ 	.short	(.L_19 - .L_18)
.L_18:
        /*002c*/ 	.word	0x00000000
        /*0030*/ 	.short	0x0000
        /*0032*/ 	.short	0x0000
        /*0034*/ 	.byte	0x00, 0xf0, 0x21, 0x00

	//----- nvinfo : EIATTR_MAX_THREADS
	.align		4
.L_29:
        /*0098*/ 	.byte	0x04, 0x05
        /*009a*/ 	.short	(.L_31 - .L_30)
.L_30:
        /*009c*/ 	.word	0x00000100
        /*00a0*/ 	.word	0x00000002
        /*00a4*/ 	.word	0x00000001

	//----- nvinfo : EIATTR_PARAM_CBANK
	.align		4
        /*00b4*/ 	.byte	0x04, 0x0a
        /*00b6*/ 	.short	(.L_35 - .L_34)
	.align		4
.L_34:
        /*00b8*/ 	.word	index@(.nv.constant0._Z4axpyPdS_dl)
        /*00bc*/ 	.short	0x0210
        /*00be*/ 	.short	0x000c

//--------------------- .nv.constant2._Z4axpyPdS_dl    --------------------------
	.section	.nv.constant2._Z4axpyPdS_dl,"a",@progbits
	.align	4
.nv.constant2._Z4axpyPdS_dl:
        /*0000*/ 	.byte	0x10, 0x01, 0x00, 0x00
        /*0004*/ 	.word	0x0a0b0c0d

//--------------------- .text._Z4axpyPdS_dl --------------------------
	.section	.text._Z4axpyPdS_dl,"ax",@progbits
	.align	128
        .global         _Z4axpyPdS_dl
_Z4axpyPdS_dl:
.text._Z4axpyPdS_dl:
	//## File "/tmp/somewhere/axpy.cu", line 7
        /*0000*/                   S2R R0, SR_TID.X ;
.L_x_1:
	//## File "/usr/include/cuda/header.hpp", line 84
        /*0010*/                   LDG.E.64 R2, desc[UR6][R2.64+-0x10]      (*"SpillRefill"*);
	//## File "/tmp/somewhere/axpy.cu", line 9
        /*0020*/               @P0 BRA P1, `(.L_x_1) ;
        /*0030*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_rn_f64_full) ;
.L_x_2:
        /*0040*/                   BRX R2 -0x50                       (*"BRANCH_TARGETS .L_x_1,.L_x_2"*);
        /*0050*/              @!UP0 EXIT ;
        .weak           $__internal_0_$__cuda_sm20_div_rn_f64_full
$__internal_0_$__cuda_sm20_div_rn_f64_full:
        /*0060*/                   RET.REL.NODEC R2 `(_Z4axpyPdS_dl) ;
.L_x_3:
        /*0070*/                   BRA `(.L_x_3);
        /*0080*/                   NOP;
.L_x_4:

//--------------------- .text._ZN2la4stepEv     --------------------------
	.section	.text._ZN2la4stepEv,"ax",@progbits
.text._ZN2la4stepEv:
	//## File "/tmp/somewhere/axpy.cu", line 3
        /*0000*/                   EXIT ;

//--------------------- .text.plain     --------------------------
	.section	.text.plain,"ax",@progbits
.text.plain:
	//## File "/tmp/somewhere/axpy.cu", line 20
        /*0000*/                   EXIT ;
"""


def test_kernels_stand_in_the_order_of_their_lines():
    assert [kernel.name for kernel in parse(TEXT)] == ["la::step", "axpy", "plain"]
    assert [kernel.arch for kernel in parse(TEXT)] == ["sm_90"] * 3
    assert parse("") == ()


def test_instructions():
    kernel = parse(TEXT)[1]
    assert [str(instruction) for instruction in kernel.instructions] == [
        "S2R R0, SR_TID.X",
        "LDG.E.64 R2, desc[UR6][R2.64+-0x10]",
        "@P0 BRA P1, `(.L_x_1)",
        "CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_rn_f64_full)",
        "BRX R2 -0x50",
        "@!UP0 EXIT",
        "RET.REL.NODEC R2 `(_Z4axpyPdS_dl)",
    ]  # without the endless loop and the padding behind it
    assert [instruction.targets for instruction in kernel.instructions] == [
        (), (), (0x10,), (0x60,), (0x10, 0x40), (), (0x0,)
    ]  # fmt: skip
    assert kernel.routines == {"$__internal_0_$__cuda_sm20_div_rn_f64_full": 0x60}


def test_lines_are_of_the_text_itself_not_of_headers():
    assert [instruction.line for instruction in parse(TEXT)[1].instructions] == [7, 7, 9, 9, 9, 9, 9]


def test_what_is_said_of_a_kernel_beside_its_code():
    kernel = parse(TEXT)[1]
    assert kernel.launch_bounds == (256, 2, 1)
    assert kernel.parameter_base == 0x210
    assert kernel.parameters == ((0, 8), (8, 4))
    assert kernel.constants == {2: bytes([0x10, 1, 0, 0, 0x0D, 0x0C, 0x0B, 0x0A])}
    assert parse(TEXT)[2].launch_bounds is None


def test_two_kernels_of_one_name_keep_their_symbols():
    symbols = ("_Z1fPd", "_Z1fPf", "_Z1gPf")
    text = "".join(f"\t.section\t.text.{symbol},\n        /*0000*/   EXIT ;\n" for symbol in symbols)
    assert [kernel.name for kernel in parse(text)] == ["_Z1fPd", "_Z1fPf", "g"]
